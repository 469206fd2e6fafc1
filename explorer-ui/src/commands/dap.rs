//! `heddle dap`.

use super::opening::ServerOpener;
use crate::cli::dap::DapArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::processors;
use crate::walk::panics;

/// Runs the verb.
///
/// # Errors
/// If standard output is closed.
pub fn main(args: &DapArgs, console: &Console) -> Result<Status, Problem> {
    let stop = interrupt::flag();
    // A panic becomes the error of the request that met it.
    std::panic::set_hook(Box::new(panics::keep));
    let opener = ServerOpener { yes: args.yes, console };
    let workers = args.workers.unwrap_or_else(processors::count);
    crate::dap::serve(std::io::stdin(), std::io::stdout(), &opener, workers, &stop)?;
    Ok(Status::Fine)
}
