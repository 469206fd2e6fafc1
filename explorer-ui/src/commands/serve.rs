//! `heddle serve`.

use super::opening::ServerOpener;
use crate::cli::serve::ServeArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::processors;
use crate::report::json_output::json;
use crate::serve::{Dialect, Settings, registry, serve, serve_socket};
use crate::walk::panics;
use replay_core::private_socket::PrivateSocket;

/// Runs the verb.
///
/// # Errors
/// If the socket cannot be created.
pub fn main(args: &ServeArgs, console: &Console) -> Result<Status, Problem> {
    if args.schema {
        console.print(&json(&registry::schema()))?;
        return Ok(Status::Fine);
    }
    let stop = interrupt::flag();
    // A panic becomes the error of the request that met it.
    std::panic::set_hook(Box::new(panics::keep));
    let opener = ServerOpener { yes: args.yes, console };
    let workers = args.workers.unwrap_or_else(processors::count);
    let settings = Settings { out: args.out.clone(), workers };
    let dialect = if args.mcp { Dialect::Mcp } else { Dialect::Plain };
    let with = (&opener as _, &settings);
    if args.socket {
        let socket = PrivateSocket::bind("heddle")?;
        console.print(&format!("{}\n", socket.path().display()))?;
        serve_socket(&socket, dialect, with, &stop)?;
    } else {
        serve(std::io::stdin(), std::io::stdout(), (dialect, true), with, &stop)?;
    }
    Ok(Status::Fine)
}
