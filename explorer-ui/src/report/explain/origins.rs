//! Where values at the failure came from.

use super::describe::Describer;
use crate::report::style::{Role, Style};
use crate::report::text::clean;
use replay_core::debug::OriginLine;
use std::fmt::Write;

/// How many of the copies next to the failure, and of those next to the beginning, are shown.
const FIRST: usize = 24;
const LAST: usize = 8;

/// A value at the failure, and where it came from.
#[derive(Debug)]
pub struct ValueOrigin {
    /// The expression, or what else it is.
    pub what: String,
    /// The value, or why it cannot be read.
    pub value: Result<String, String>,
    /// The copies, from the last one backwards; or why it cannot be followed.
    pub lines: Result<Vec<OriginLine>, String>,
}

/// Renders one section.
pub(super) fn render(origin: &ValueOrigin, describer: &Describer<'_>, style: &Style) -> String {
    let value = match &origin.value {
        Ok(value) => clean(value),
        Err(why) => format!("({})", clean(why)),
    };
    let title = style.paint(Role::Title, &format!("Where {} came from", clean(&origin.what)));
    let mut text = format!("{title}: {value}\n");
    let lines = match &origin.lines {
        Ok(lines) => lines,
        Err(why) => {
            let _ = writeln!(text, "  it cannot be followed: {}", clean(why));
            return text;
        }
    };
    let left_out = lines.len().saturating_sub(FIRST + LAST);
    for (at, line) in lines.iter().enumerate() {
        if left_out > 0 && at == FIRST {
            let _ = writeln!(text, "  ... {left_out} more copies");
        }
        if (FIRST..FIRST + left_out).contains(&at) {
            continue;
        }
        let what = clean(&line.what());
        let Some(place) = &line.place else {
            let _ = writeln!(text, "  {what}");
            continue;
        };
        let statement = place.own_frame().map(|frame| {
            let statement = describer.statement(frame);
            format!("{}  {statement}", clean(&frame.place()))
        });
        let site = statement.unwrap_or_else(|| clean(&place.code()));
        let task = style.paint(Role::Task(place.task), &place.task.to_string());
        let _ = writeln!(text, "  {task} in step {}  {}", place.step, site.trim_end());
        let _ = writeln!(text, "      {what}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use replay_core::debug::OriginEvent;
    use std::collections::HashMap;

    #[test]
    fn long_and_unknown_origins() {
        let trace = samples::two_tasks();
        let sources = HashMap::new();
        let describer = Describer { trace: &trace, sources: &sources };
        let style = Style { color: false, ascii: true };
        let text = |lines, value| {
            render(&ValueOrigin { what: "q.len".to_owned(), value, lines }, &describer, &style)
        };
        let why = "a function of a library changed it".to_owned();
        assert_eq!(
            text(Err(why), Err("not readable".to_owned())),
            "Where q.len came from: (not readable)\n  it cannot be followed: a function of a library \
             changed it\n"
        );
        let line =
            |at| OriginLine { event: OriginEvent::Begins(format!("copy {at}")), place: None };
        let lines: Vec<OriginLine> = (0..FIRST + LAST + 5).map(line).collect();
        let text = text(Ok(lines), Ok("3".to_owned()));
        let shown: Vec<&str> = text.lines().collect();
        assert_eq!(shown[0], "Where q.len came from: 3");
        assert_eq!(shown[FIRST], "  copy 23");
        assert_eq!(shown[FIRST + 1], "  ... 5 more copies");
        assert_eq!(shown[FIRST + 2], "  copy 29");
        assert_eq!(shown.len(), 1 + FIRST + 1 + LAST);
    }
}
