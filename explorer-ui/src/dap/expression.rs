//! Which variable an expression of an editor means.

use super::view;
use crate::walk::session::{Call, Refusal, Session};

/// The expression with the task whose variable it names, and its value, or why it has none. A local
/// variable is that of the selected frame's task, never of another one.
pub(super) fn resolve(
    session: &mut Session,
    text: &str,
    frame: Option<u64>,
    call: &Call<'_>,
) -> Result<(String, Result<String, String>), Refusal> {
    let task = frame.and_then(|frame| view::task_of(view::thread_of_frame(frame)));
    let named = task.map(|task| format!("{task}:{text}")).filter(|_| !text.contains(':'));
    let texts: Vec<String> = [text.to_owned()].into_iter().chain(named).collect();
    let values = session.values(&texts, call)?;
    let chosen = match &values[..] {
        // A static variable needs no task: this one may have ended.
        [plain, own] if own.value.is_err() && plain.task.is_none() => 0,
        other => other.len().saturating_sub(1),
    };
    let value = values.into_iter().nth(chosen).map(|seen| seen.value);
    let value = value.unwrap_or_else(|| Err("no value".to_owned()));
    Ok((texts.into_iter().nth(chosen).unwrap_or_default(), value))
}
