//! The texts of messages that follow from a value alone: wrong values of options, the reasons why
//! accesses are not observed, and the reasons why a file is not a trace.

use explorer_ui::cli::values;
use explorer_ui::report::filter::Filter;
use explorer_ui::tui::tour::PAGES;
use explorer_ui::tui::{commands, preferences};
use std::fmt::Debug;
use traces::file::FileError;
use traces::memory_change::{MemoryChange, MemoryLocation};
use traces::points::InstrumentationGap;
use traces::{FailureKind, Operation};

/// The message that a parser gives for a wrong value.
fn refused<T: Debug>(text: &str, parse: fn(&str) -> Result<T, String>) -> String {
    let message = parse(text).expect_err(text);
    format!("{text:?}: {message}\n")
}

#[test]
fn wrong_values_of_options() {
    let mut all = String::new();
    let mut add = |option: &str, messages: &[String]| {
        all.push_str(&format!("{option}\n"));
        messages.iter().for_each(|message| all.push_str(&format!("  {message}")));
    };
    add("reset", &[refused("zfs", values::reset)]);
    add("points", &[refused("some", values::points)]);
    add("workers", &[refused("0", values::workers), refused("257", values::workers)]);
    add("seed", &[refused("-1", values::seed)]);
    add("times", &[refused("0", values::positive)]);
    add("bound", &[refused("-1", values::bound)]);
    add("prime", &[refused("x", values::priming)]);
    add("max-executions", &[refused("-1", values::executions)]);
    let memory = ["4", "1K", "0.5M", "99999999999G"];
    let memory = memory.iter().filter(|text| values::memory(text).is_err());
    add("max-memory", &memory.map(|text| refused(text, values::memory)).collect::<Vec<_>>());
    add("max-time", &["5 parsecs", "0s"].map(|text| refused(text, values::duration)));
    let slack = ["-1s", "600y", "9999999999h"];
    let slack = slack.iter().filter(|text| values::slack(text).is_err());
    add("slack", &slack.map(|text| refused(text, values::slack)).collect::<Vec<_>>());
    add("fail-on", &["", "conflict", "flood"].map(|text| refused(text, values::fail_on)));
    add("steps", &[refused("9..3", values::steps)]);
    add("at (show)", &[refused("0", values::position)]);
    add("at (gdb)", &[refused("middle", values::start)]);
    add("a path", &[refused("", values::path)]);
    insta::assert_snapshot!(all);
}

#[test]
fn reasons_why_accesses_are_not_observed() {
    let texts: Vec<&str> =
        InstrumentationGap::among(u64::MAX).map(InstrumentationGap::describe).collect();
    for (at, text) in texts.iter().enumerate() {
        assert!(!text.contains('\n') && !text.ends_with('.'), "{text}");
        assert!(!texts[..at].contains(text), "{text}");
    }
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn names_of_operations_and_failures() {
    let operations = Operation::ALL.iter().map(|operation| operation.name());
    let kinds = FailureKind::ALL.iter().map(|kind| kind.name());
    let all: Vec<&str> = operations.chain(kinds).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn changes_of_memory() {
    let all = [
        MemoryLocation::Program(0x10),
        MemoryLocation::Heap(0x20),
        MemoryLocation::Stack { task: 2, below: 0x30 },
    ];
    let change = |at| MemoryChange { step: 3, at, bytes: vec![1, 2], name: String::new() };
    insta::assert_snapshot!(all.map(|at| format!("{}\n", change(at))).concat());
}

#[test]
fn commands_of_the_explorer() {
    let line = |one: &explorer_ui::tui::keys::actions::Described| {
        assert!(!one.what.contains('\n') && !one.what.ends_with('.'), "{}", one.what);
        format!("{}: {}\n", one.name, one.what)
    };
    insta::assert_snapshot!(commands::all().iter().map(line).collect::<String>());
}

#[test]
fn the_tour_of_the_explorer() {
    let pages: Vec<&str> = PAGES.iter().map(|page| page.text).collect();
    insta::assert_snapshot!(pages.join("\n"));
}

#[test]
fn wrong_filters_of_rows() {
    let refused = |text| Filter::parse(text).map(drop).expect_err(text);
    insta::assert_snapshot!(["t:", "\"open", "op:"].map(|text| refused(text) + "\n").concat());
}

#[test]
fn wrong_lines_of_the_file_of_keys() {
    let files = [
        "theme = 3\n",
        "keys = 3\n",
        "[keys]\nforward = [\"hyper-x\"]\nback = 3\nquit = [3]\n",
        "[keys]\nforward = [\"x\"]\nexplain = [\"x\"]\n",
    ];
    let lines: Vec<String> =
        files.iter().flat_map(|file| preferences::read(file, "ui.toml").1).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn reasons_why_a_file_is_no_trace() {
    let all = [
        FileError::Empty,
        FileError::NotATrace,
        FileError::Newer { found: 9 },
        FileError::Truncated("past events"),
        FileError::Damaged("checksum"),
        FileError::Malformed("a step belongs to no task".to_owned()),
        FileError::TooLarge("5000000 steps, at most 4194304".to_owned()),
    ];
    insta::assert_snapshot!(all.map(|error| format!("{error}\n")).concat());
}

#[test]
fn kinds_of_bugs_and_their_meaning() {
    use replay_core::bisect::Kind;
    let all = [
        Kind::Atomicity,
        Kind::Order,
        Kind::LockOrder,
        Kind::SelfDeadlock,
        Kind::LostWakeup,
        Kind::SpuriousWakeup,
        Kind::StolenWakeup,
        Kind::Publication,
        Kind::Aba,
        Kind::Livelock,
        Kind::Always,
        Kind::NonePasses,
        Kind::NotClassified,
    ];
    insta::assert_snapshot!(all.map(|kind| format!("{kind}: {}\n", kind.meaning())).concat());
}

#[test]
fn points_of_no_return() {
    use explorer_ui::report::verdict::no_return;
    use replay_core::runner::{NoReturn, Prospect};
    let found = |lost_after, executions, failing, complete| {
        let before = Prospect { executions, failing, complete };
        no_return(
            &NoReturn { lost_after, before: Some(before), passes_after: Some(lost_after - 1) },
            9,
        )
    };
    let all = [
        found(1, 1, 0, true),
        found(1, 5, 2, true),
        found(4, 5, 2, true),
        found(4, 1, 0, true),
        found(4, 5, 2, false),
    ];
    insta::assert_snapshot!(all.join("\n"));
}
