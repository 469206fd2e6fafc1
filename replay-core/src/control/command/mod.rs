//! The commands: run one execution, learn, explore, replay.

mod backtraces;
mod execution;
mod explore;
mod learn;
mod reduced_environment;
mod replay;
mod run;

pub use backtraces::print_backtraces;
pub use execution::Observed;
pub(crate) use execution::{Outcome, first_of, record_again, search_job, single_job};
pub(crate) use explore::saved_clients;
pub use explore::{OpenRunner, WorkerPool, explore, explore_with, pieces, substitute};
pub use learn::learn;
pub use reduced_environment::reduce_environment;
pub use replay::replay;
pub(crate) use replay::{as_recorded, debugger_job};
pub use run::{run, run_once};
