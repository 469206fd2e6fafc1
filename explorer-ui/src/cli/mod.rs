//! The command line and the configuration file: what can be given, and the resulting settings.

pub mod arguments;
pub mod config_file;
pub mod dap;
pub mod serve;
pub mod settings;
pub(crate) mod usage_error;
pub mod values;
