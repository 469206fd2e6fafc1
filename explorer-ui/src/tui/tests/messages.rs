//! The messages of commands that need a certain state: what a sequence of commands, typed texts and events
//! leaves in the footer.

use super::{half_way, keys, model, new_model, screen};
use crate::report::samples;
use crate::report::search::empty_report;
use crate::tui::commands;
use crate::tui::model::event::Event;
use crate::tui::model::mode::Mode;
use crate::tui::model::{Model, SavedSchedule};
use crate::tui::render;
use crate::tui::update::{opened, update};
use crate::walk::check::{CheckState, CheckUpdate};
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::reply::Reply;
use crate::walk::search::SearchUpdate;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use traces::report::Verdict;

/// Presses the first key of a command.
pub(super) fn command(model: &mut Model, name: &str) {
    let one = commands::all().iter().find(|one| one.name == name);
    let key = one.and_then(|one| one.keys.first()).unwrap_or_else(|| panic!("no command {name}"));
    keys(model, key);
}

/// Performs a line of words: commands, `"text"` that is typed with enter behind it, and `+key` for a key.
pub(super) fn perform(model: &mut Model, line: &str) {
    for word in line.split(' ') {
        if let Some(text) = word.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            text.chars().for_each(|letter| drop(keys(model, &letter.to_string())));
            keys(model, "enter");
        } else if let Some(key) = word.strip_prefix('+') {
            keys(model, key);
        } else {
            command(model, word);
        }
    }
}

/// What the footer says: the message, and what is being run.
pub(super) fn said(model: &Model) -> String {
    let message = model.message.as_ref().map_or("", |message| message.text.as_str());
    match &model.busy {
        Some(busy) => format!("{message} [{busy}]").trim().to_owned(),
        None => message.to_owned(),
    }
}

/// A line of the snapshot: what was done, and what the footer says.
fn after(mut model: Model, line: &str) -> String {
    perform(&mut model, line);
    let title = match &model.mode {
        Mode::Text(title, ..) => format!(" ({title})"),
        _ => String::new(),
    };
    format!("{line}: {}{title}\n", said(&model))
}

#[test]
fn sequences_of_commands() {
    let lines = [
        "bookmark bookmark",
        "note \"why\" bookmark",
        "hide-others hide-task",
        "pin-task pin-task",
        "mouse mouse",
        "explain",
        "shrink",
        "first reverse next-of-task reverse",
        "first reverse go-to \"5\" reverse",
        "filter \"lock\" filter +backspace +backspace +backspace +backspace +enter",
        "first search \"lock\" next-match next-match",
        "last search-back \"lock\" next-match next-match",
        "until-object \"fork_a\" until-object \"fork_a\"",
        "watch-expression \"total\"",
        "watch-expression \"total\" next-change",
        "watch-expression \"total\" last previous-change",
        "pane-output pane-earlier",
        "make-happen +ctrl-u +enter",
        "explain redraw",
        "fold fold",
    ];
    let all: String =
        lines.iter().map(|line| after(model(samples::deadlock(), 120, 40), line)).collect();
    insta::assert_snapshot!(all);
}

#[test]
fn a_schedule_that_cannot_be_run_and_one_without_steps() {
    let mut all = String::new();
    for (name, trace, can_run) in [
        ("cannot be run", samples::deadlock(), Err("the program is gone".to_owned())),
        ("no steps", samples::empty(), Ok(())),
    ] {
        all += &format!("{name}\n");
        for one in commands::all() {
            let mut model = new_model(trace.clone(), 120, 40);
            model.can_run = can_run.clone();
            opened(&mut model, None);
            model.message = None;
            let Some(key) = one.keys.first() else { continue };
            keys(&mut model, key);
            if model.message.is_some() {
                all += &format!("  {:<22} {}\n", one.name, said(&model));
            }
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn small_terminals_and_long_schedules() {
    let mut all = String::new();
    all += &after(model(samples::deadlock(), 70, 30), "wider");
    all += &after(model(samples::deadlock(), 70, 6), "pane-locks");
    let mut long = samples::two_tasks();
    long.execution.steps = long.execution.steps.repeat(200);
    all += &after(model(long, 120, 40), "copy-schedule");
    insta::assert_snapshot!(all);
    let tiny = screen(&model(samples::deadlock(), 60, 2));
    assert!(tiny.starts_with("the terminal is too small: at least "), "{tiny}");
    let mut terminal = ratatui::Terminal::new(TestBackend::new(40, 3)).expect("a screen in memory");
    terminal
        .draw(|frame| render::opening("queue", "starting the program", frame))
        .expect("it is drawn");
    let buffer = terminal.backend().buffer();
    let last: String = (0..40).map(|x| buffer[(x, 2)].symbol()).collect();
    assert_eq!(last.trim_end(), " starting the program ... (q quits)");
}

#[test]
fn answers_of_the_engine() {
    let loaded = || Arc::new(LoadedTrace::of(samples::assertion()));
    let passing = || Arc::new(LoadedTrace::of(samples::two_tasks()));
    let mut all = String::new();
    let mut note = |name: &str, model: &Model| all += &format!("{name}: {}\n", said(model));

    let mut model = super::model(samples::deadlock(), 120, 40);
    update(&mut model, Event::Rebuilt);
    note("the program was rebuilt", &model);

    let mut model = super::model(samples::deadlock(), 120, 40);
    let what = "from 3 preemptions to 1: proved minimal".to_owned();
    update(&mut model, Event::Engine(Reply::Shrunk { loaded: loaded(), what }));
    note("shrunk", &model);
    command(&mut model, "compare-before");
    let Mode::Text(title, ..) = &model.mode else { panic!("{:?}", model.mode) };
    assert_eq!(title, "A is the schedule before shrinking, B after");

    for (name, reached) in [("reached and fails", loaded()), ("reached and passes", passing())] {
        let mut model = super::model(samples::deadlock(), 120, 40);
        model.happened = Some("T1@queue.c:9".to_owned());
        update(&mut model, Event::Engine(Reply::Ran { loaded: reached, cursor: 1 }));
        note(name, &model);
    }

    let mut model = super::model(samples::deadlock(), 120, 40);
    update(&mut model, Event::Engine(Reply::Ran { loaded: passing(), cursor: 1 }));
    command(&mut model, "compare");
    let Mode::Text(title, ..) = &model.mode else { panic!("{:?}", model.mode) };
    assert_eq!(title, "A is the schedule that was opened, B the displayed one");
    keys(&mut model, "y");
    note("the copied comparison", &model);
    keys(&mut model, "esc");
    command(&mut model, "compare-before");
    let Mode::Text(title, ..) = &model.mode else { panic!("{:?}", model.mode) };
    assert_eq!(title, "A is the previous schedule, B the displayed one");

    for both in [true, false] {
        let mut model = super::model(samples::deadlock(), 120, 40);
        let reply = Reply::Reversed { loaded: passing(), step: 1, both, wishes: Vec::new() };
        update(&mut model, Event::Engine(reply));
        note("reversed", &model);
    }

    let mut model = new_model(samples::deadlock(), 120, 40);
    let choices = model.loaded().trace.execution.choices().collect();
    model.saved = Some(SavedSchedule { choices, cursor: 3 });
    opened(&mut model, None);
    note("an edited schedule was saved", &model);
    command(&mut model, "restore-edited");
    note("restored", &model);

    let mut model = super::model(samples::data_choice(), 120, 40);
    perform(&mut model, "go-to \"8\" other-data");
    note("another outcome", &model);
    insta::assert_snapshot!(all);
}

/// What the last row and the verdict say about executions without an end, and verdicts that were not checked.
#[test]
fn schedules_that_were_cut_and_verdicts_that_were_not_checked() {
    let mut trace = samples::two_tasks();
    trace.header.options.max_steps = 3;
    let cut = screen(&model(trace, 120, 20));
    let end = "stopped after 3 steps (--max-steps): its end is unknown";
    assert!(cut.contains(end), "{cut}");
    let mut model = model(samples::deadlock(), 200, 20);
    let of = Arc::clone(&model.view.loaded);
    let state = CheckState::Failed("the schedule passes when it is run again".to_owned());
    let update_ = CheckUpdate::Verdict(state);
    update(&mut model, Event::Engine(Reply::Check { of, update: update_ }));
    let text = screen(&model);
    assert!(text.contains("not checked: the schedule passes when it is run again"), "{text}");
    command(&mut model, "no-return");
    assert_eq!(said(&model), "the point of no return is not known");
}

#[test]
fn searches_that_run_and_end() {
    let mut all = String::new();
    let report = |complete| {
        let mut report = empty_report(Verdict::Incomplete, "icb", "it was stopped".to_owned());
        report.complete = complete;
        Box::new(report)
    };
    for (name, complete) in [("stopped", false), ("complete", true)] {
        let mut model = super::model(samples::deadlock(), 120, 40);
        perform(&mut model, "first hand-over +enter");
        let news = |model: &mut Model, update_| {
            update(model, Event::Engine(Reply::Search { number: 1, update: update_ }));
        };
        news(&mut model, SearchUpdate::Progress(half_way(), None, None));
        command(&mut model, "next-found");
        all += &format!("{name}, while it runs: {}\n", said(&model));
        model.message = None;
        news(&mut model, SearchUpdate::Ended(report(complete)));
        all += &format!("{name}, at the end: {}\n", said(&model));
        for name in ["next-found", "resume"] {
            command(&mut model, name);
            all += &format!("  {name}: {}\n", said(&model));
        }
    }
    insta::assert_snapshot!(all);
}

/// The panes of a schedule that passes, at its first step and at its end.
#[test]
fn panes_without_a_failure() {
    let mut all = String::new();
    for (name, trace) in [("two tasks", samples::two_tasks()), ("no steps", samples::empty())] {
        for at in ["first", "last"] {
            for pane in
                ["output", "causes", "graph", "locks", "findings", "search", "tree", "source"]
            {
                let mut model = super::model(trace.clone(), 100, 14);
                perform(&mut model, &format!("{at} pane-{pane} zoom"));
                all += &format!("{name}, {at}, {pane}\n");
                let text = screen(&model);
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                lines.for_each(|line| all += &format!("  {line}\n"));
            }
        }
    }
    insta::assert_snapshot!(all);
}

/// The displayed screen of a zoomed pane.
pub(super) fn pane(model: &mut Model, name: &str) -> String {
    perform(model, &format!("pane-{name} zoom"));
    screen(model)
}

#[test]
fn panes_that_need_the_program() {
    for line in ["pane-stacks zoom", "watch-expression \"total\" pane-values zoom"] {
        let mut model = super::model(samples::two_tasks(), 100, 14);
        perform(&mut model, line);
        model.inspections.error = Some("ptrace is not permitted".to_owned());
        let text = screen(&model);
        assert!(
            text.contains("the program cannot be inspected: ptrace is not permitted"),
            "{text}"
        );
    }
    let mut model = super::model(samples::two_tasks(), 100, 14);
    perform(&mut model, "watch-expression \"total\" origin");
    let values = pane(&mut model, "values");
    assert!(values.contains("finding its origin ..."), "{values}");
    let mut model = super::model(samples::two_tasks(), 100, 14);
    perform(&mut model, "go-to \"5\" watch first");
    let values = pane(&mut model, "values");
    assert!(values.contains("not accessed yet"), "{values}");
}

#[test]
fn panes_of_relations_and_of_waiting_tasks() {
    let mut model = super::model(samples::two_tasks(), 100, 14);
    perform(&mut model, "go-to \"6\"");
    let causes = pane(&mut model, "causes");
    assert!(causes.contains("joined it"), "{causes}");
    let mut trace = samples::deadlock();
    let failure = trace.failure.as_mut().expect("it fails");
    failure.waits.iter_mut().for_each(|wait| wait.holder = None);
    let mut model = super::model(trace, 100, 14);
    perform(&mut model, "last");
    let locks = pane(&mut model, "locks");
    assert!(locks.contains("an unknown task"), "{locks}");
    let mut model = super::model(samples::inferred_lock(), 100, 14);
    perform(&mut model, "go-to \"7\"");
    let locks = pane(&mut model, "locks");
    assert!(locks.contains("lock (inferred) queue+0x4000 T1 since step 3"), "{locks}");
}

#[test]
fn panes_of_a_search_for_a_state_and_of_one_with_gaps() {
    use replay_core::runner::Tree;
    let mut model = super::model(samples::deadlock(), 120, 20);
    perform(&mut model, "first make-happen +ctrl-u \"T1@queue.c:9\"");
    let number = model.search.as_ref().expect("a search").number;
    let left = vec![super::open_branches(&[1, 1, 2], &[(1, 2)])];
    let tree = Tree { left, gaps: true };
    let news = SearchUpdate::Progress(half_way(), Some(tree), None);
    update(&mut model, Event::Engine(Reply::Search { number, update: news }));
    let search = pane(&mut model, "search");
    assert!(
        search.contains("1 branch unexplored; 3 executions satisfied it or failed"),
        "{search}"
    );
    perform(&mut model, "zoom");
    let tree = pane(&mut model, "tree");
    let gaps =
        " explored by the search (J, K select a step), with gaps where executions were aborted";
    assert!(tree.contains(gaps), "{tree}");
    let mut ended =
        empty_report(Verdict::Incomplete, "when", "the time limit was reached".to_owned());
    ended.executions = 12_345;
    let news = SearchUpdate::Ended(Box::new(ended));
    update(&mut model, Event::Engine(Reply::Search { number, update: news }));
    let executions = "not reached in 12,345 executions, which does not show that it is impossible; stopped: \
                      the time limit was reached";
    assert_eq!(said(&model), executions);
}

#[test]
fn matches_of_a_text_have_hints() {
    let mut model = model(samples::deadlock(), 120, 40);
    perform(&mut model, "first search \"lock\"");
    // A message is shown in place of the hints, for a while.
    model.message = None;
    let screen = screen(&model);
    for hint in ["next match", "match before"] {
        assert!(screen.contains(hint), "{hint}: {screen}");
    }
}
