//! A client whose command fails after other answers than those of the recording before the search.

use super::actions;
use crate::state::end::End;
use crate::state::outcome::{self, key_of_text};
use traces::FailureKind;
use traces::wire::FoundFailure;

/// Ends the execution: the client's command ended with this status.
pub(super) fn end(client: usize, command: &str, status: i32) -> ! {
    let detail = format!("client {} (`{command}`) ended with status {status}", client + 1);
    let key = key_of_text(outcome::key(FailureKind::Exit, &[status as u64]), &detail);
    let found = outcome::found(FailureKind::Exit, actions::site(), detail);
    outcome::end_here(End::Failed(Box::new(FoundFailure { key, number: status, ..found })))
}
