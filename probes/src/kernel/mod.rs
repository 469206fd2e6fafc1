//! Models of system calls, time, signals, process end and output.

pub(crate) mod abort;
pub(crate) mod alerts;
pub(crate) mod captured_output;
pub(crate) mod descriptor_order;
pub(crate) mod direct_calls;
pub(crate) mod dispatch;
pub(crate) mod exit;
pub(crate) mod file_lock;
pub(crate) mod output;
pub(crate) mod pass;
pub(crate) mod random;
pub(crate) mod readiness;
pub(crate) mod signal_action;
pub(crate) mod signal_calls;
pub(crate) mod signal_delivery;
pub(crate) mod syscalls;
pub(crate) mod task_life;
pub(crate) mod thread_list;
pub(crate) mod time;
pub(crate) mod timer;
pub(crate) mod unsupported;
