//! The verbs for several machines. `heddle-cluster`, which knows NATS, implements them; `heddle` starts
//! it with the same command line.

use crate::cli::arguments::{ClusterVerb, ExploreArgs, TestArgs, Verb, WorkerArgs};
use crate::console::Console;
use crate::exit::{Problem, Status};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The verbs, as `heddle-cluster` implements them.
pub trait Verbs {
    /// `heddle explore --cluster`.
    ///
    /// # Errors
    /// If the search cannot be run.
    fn explore(&self, args: ExploreArgs, console: &Console) -> Result<Status, Problem>;

    /// `heddle test --cluster`.
    ///
    /// # Errors
    /// If the tests cannot be searched.
    fn test(&self, args: TestArgs, console: &Console) -> Result<Status, Problem>;

    /// `heddle worker`.
    ///
    /// # Errors
    /// If the server cannot be reached.
    fn worker(&self, args: &WorkerArgs, console: &Console) -> Result<Status, Problem>;

    /// `heddle cluster`.
    ///
    /// # Errors
    /// If the server cannot be reached, or there is no such search.
    fn cluster(&self, verb: &ClusterVerb, console: &Console) -> Result<Status, Problem>;
}

/// Whether the verb needs `heddle-cluster`.
#[must_use]
pub fn is_for_cluster(verb: &Verb) -> bool {
    match verb {
        Verb::Explore(args) => args.cluster.cluster.is_some(),
        Verb::Test(args) => args.cluster.cluster.is_some(),
        Verb::Worker(_) | Verb::Cluster(_) => true,
        _ => false,
    }
}

/// Runs a verb of which [`is_for_cluster`] is true.
///
/// # Errors
/// As the verb.
pub fn run(verb: Verb, verbs: &dyn Verbs, console: &Console) -> Result<Status, Problem> {
    match verb {
        Verb::Explore(args) => verbs.explore(*args, console),
        Verb::Test(args) => verbs.test(args, console),
        Verb::Worker(args) => verbs.worker(&args, console),
        Verb::Cluster(verb) => verbs.cluster(&verb, console),
        _ => Ok(Status::Fine),
    }
}

/// Replaces this process by `heddle-cluster`, which is beside this program or in `PATH`. Returns only if
/// it cannot be started.
#[must_use]
pub fn start_heddle_cluster() -> Problem {
    const NAME: &str = "heddle-cluster";
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(NAME));
    let program = beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from(NAME));
    let error = Command::new(&program).args(std::env::args_os().skip(1)).exec();
    Problem::Usage(format!(
        "searches on several machines need {NAME}, which cannot be started ({error}): install it beside \
         heddle or in PATH (cargo build --release -p {NAME})"
    ))
}
