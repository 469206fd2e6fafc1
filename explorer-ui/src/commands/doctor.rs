//! `heddle doctor`.

use super::runtime::embedded;
use crate::cli::arguments::DoctorArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::report::doctor;
use crate::report::json_output::json;
use replay_core::doctor::{Check, State, examine};

/// Runs the verb.
///
/// # Errors
/// If standard output cannot be written.
pub fn main(args: &DoctorArgs, console: &Console) -> Result<Status, Problem> {
    let mut checks = vec![runtime()];
    checks.extend(examine());
    if args.json {
        console.print(&object(&checks))?;
    } else {
        console.print(&doctor::render(&checks, &console.style))?;
    }
    let works = checks.iter().all(|check| check.state != State::Bad);
    Ok(if works { Status::Fine } else { Status::Target })
}

/// Checks whether the runtime can be installed.
fn runtime() -> Check {
    match replay_core::runtime::install(embedded()) {
        Ok(path) => Check {
            name: "runtime",
            state: State::Good,
            found: path.display().to_string(),
            advice: String::new(),
        },
        Err(error) => Check {
            name: "runtime",
            state: State::Bad,
            found: "cannot be installed".to_owned(),
            advice: error.to_string(),
        },
    }
}

fn object(checks: &[Check]) -> String {
    let list: Vec<serde_json::Value> = checks
        .iter()
        .map(|check| {
            let state = match check.state {
                State::Good => "ok",
                State::Warning => "warn",
                State::Bad => "bad",
            };
            serde_json::json!({
                "name": check.name,
                "state": state,
                "found": check.found,
                "advice": check.advice,
            })
        })
        .collect();
    json(&serde_json::json!({ "heddle": 1, "checks": list }))
}
