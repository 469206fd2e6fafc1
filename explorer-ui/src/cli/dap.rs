//! The options of `heddle dap`.

use clap::Args;

/// `heddle dap`.
#[derive(Debug, Clone, Default, Args)]
pub struct DapArgs {
    /// Allow running the programs that traces of other users name
    #[arg(long)]
    pub yes: bool,
    /// Number of processes that search in parallel [the number of processors]
    #[arg(long, value_parser = crate::cli::values::workers, value_name = "N")]
    pub workers: Option<u32>,
}
