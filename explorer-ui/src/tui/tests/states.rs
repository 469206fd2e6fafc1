//! What the explorer says in states that take long to reach, or that need an unusual program.

use super::messages::{command, pane, perform, said};
use super::screens::{explained_with, source};
use super::{half_way, keys, model, new_model, screen};
use crate::report::samples::{self, Builder};
use crate::tui::model::Model;
use crate::tui::model::event::Event;
use crate::tui::model::job::JobUpdate;
use crate::tui::model::mode::Mode;
use crate::tui::session;
use crate::tui::startup::LearningProgress;
use crate::tui::update::{opened, update};
use crate::walk::check::{CheckState, CheckUpdate};
use crate::walk::inspection::InspectionResult;
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::reply::Reply;
use crate::walk::search::SearchUpdate;
use replay_core::runner::{NoReturn, Outlook, Prospect};
use replay_core::{Observer, Progress};
use serde_json::json;
use std::cell::RefCell;
use std::sync::Arc;
use traces::report::Bug;
use traces::{FailureKind, Operation, Trace};

/// The lines of a screen that contain one of these texts.
fn lines(screen: &str, texts: &[&str]) -> String {
    let found = screen.lines().filter(|line| texts.iter().any(|text| line.contains(text)));
    found.map(|line| format!("{}\n", line.trim())).collect()
}

/// A search of random schedules that runs.
fn random_search(number: u64) -> Model {
    let mut model = model(samples::deadlock(), 120, 20);
    perform(&mut model, "first hand-over +down +down +enter");
    let search = model.search.as_ref().expect("a search");
    assert_eq!(search.number, number);
    model
}

#[test]
fn panes_of_what_was_read_from_the_program() {
    let mut model = model(samples::two_tasks(), 100, 14);
    perform(&mut model, "last");
    let of = Arc::clone(&model.view.loaded);
    let (step, stacks) = (model.view.cursor, Vec::new());
    model.inspections.store(&of, &[], InspectionResult::Step { step, stacks, values: Vec::new() });
    assert_eq!(lines(&pane(&mut model, "stacks"), &["ended"]), "every task has ended\n");

    let mut model = super::model(samples::two_tasks(), 100, 14);
    perform(&mut model, "watch-expression \"total\" origin");
    let (of, step) = (Arc::clone(&model.view.loaded), model.view.cursor);
    let origins = vec![Err("it is in a register, and has no address".to_owned())];
    let read = InspectionResult::Origins(step, origins);
    model.inspections.store(&of, &["total".to_owned()], read);
    let expected = "its origin is unknown: it is in a register, and has no address\n";
    assert_eq!(lines(&pane(&mut model, "values"), &["origin"]), expected);
}

#[test]
fn a_step_without_an_order_to_other_tasks() {
    let mut alone = Builder::new(&["main"]);
    alone.step(0, Operation::Lock, "jobs", 9);
    let mut model = model(alone.done(), 100, 14);
    let expected = "this step is not ordered with steps of other tasks\n";
    assert_eq!(lines(&pane(&mut model, "graph"), &["ordered"]), expected);
}

#[test]
fn sources_that_changed_or_cannot_be_read() {
    let mut model = model(samples::data_choice(), 150, 30);
    let mut newer = source();
    newer.newer = true;
    update(&mut model, Event::Source("src/queue.c".into(), Some(Arc::new(newer))));
    perform(&mut model, "first");
    let expected = "src/queue.c  changed since the program was built: lines may have moved\n";
    assert_eq!(lines(&pane(&mut model, "source"), &["changed since"]), expected);

    let mut inside = Builder::new(&["main"]);
    inside.step(0, Operation::Lock, "jobs", 9).step(0, Operation::Unlock, "jobs", 12);
    let mut trace: Trace = inside.done();
    // The second step is in a library.
    trace.execution.places[1].1[0].file = "/rustc/0/library/std.rs".to_owned();
    let mut model = super::model(trace, 150, 30);
    update(&mut model, Event::Source("src/queue.c".into(), Some(Arc::new(source()))));
    update(&mut model, Event::Source("/rustc/0/library/std.rs".into(), None));
    perform(&mut model, "go-to \"2\"");
    let shown = lines(&pane(&mut model, "source"), &["cannot be read", "the last line"]);
    let expected = "/rustc/0/library/std.rs:12 cannot be read\nthe last line before it:\n";
    assert_eq!(shown, expected);
}

#[test]
fn the_choices_of_a_random_search_are_counted() {
    for (end, expected) in [
        (None, "how often each choice was made (J, K select a step, 1 to 9 run its tasks)\n"),
        (
            Some(3),
            "how often each choice was made (J, K select a step); not counted from step 4 on\n",
        ),
    ] {
        let mut model = random_search(1);
        let visits = json!({ "ways": {}, "end": end, "executions": 12 });
        let visits = serde_json::from_value(visits).expect("counts");
        let news = SearchUpdate::Progress(half_way(), None, Some(visits));
        update(&mut model, Event::Engine(Reply::Search { number: 1, update: news }));
        assert_eq!(lines(&pane(&mut model, "tree"), &["how often"]), expected);
    }
}

#[test]
fn a_search_that_satisfies_what_was_asked_for() {
    let mut model = model(samples::deadlock(), 120, 20);
    perform(&mut model, "first make-happen +ctrl-u \"T1@queue.c:9\"");
    let number = model.search.as_ref().expect("a search").number;
    let found = Bug {
        kind: FailureKind::Satisfied,
        signature: "satisfied:1".into(),
        message: "T1@queue.c:9 holds".into(),
        site: "queue.c:9".into(),
        stack: Vec::new(),
        trace: None,
        found_at: 42,
        preemptions: 1,
        switches: 3,
        steps: 6,
        count: 1,
    };
    let news = SearchUpdate::Found(found, Arc::new(LoadedTrace::of(samples::two_tasks())));
    update(&mut model, Event::Engine(Reply::Search { number, update: news }));
    let expected = "searching from here: S stops, f shows what was found [running the schedule that satisfies it]";
    assert_eq!(said(&model), expected);
}

#[test]
fn work_on_long_schedules_shows_its_progress() {
    let mut long = samples::two_tasks();
    long.execution.steps = long.execution.steps.repeat(4000);
    let mut model = model(long, 120, 20);
    perform(&mut model, "first search \"nothing\"");
    let (number, started) = (model.job_number, said(&model));
    update(&mut model, Event::Job { number, update: JobUpdate::Progress(40) });
    assert_eq!(started, "[searching for `nothing`]");
    assert_eq!(said(&model), "[searching for `nothing`: 40 % (esc cancels)]");

    let other = Arc::new(LoadedTrace::of(samples::two_tasks()));
    model.nearest_passing = Some((Arc::clone(&model.view.loaded), other));
    command(&mut model, "compare");
    assert_eq!(said(&model), "[comparing the schedules]");
}

#[test]
fn the_explorer_opens_where_the_last_session_left_it() {
    let mut model = new_model(samples::deadlock(), 120, 40);
    let saved = session::write(&session::of(&model));
    opened(&mut model, session::read(&saved));
    let expected = "at step 1, where the last session left it; ! goes to the deciding step";
    assert_eq!(said(&model), expected);
}

#[test]
fn a_point_of_no_return_that_cannot_be_proved() {
    let mut model = model(samples::deadlock(), 120, 40);
    let of = Arc::clone(&model.view.loaded);
    let before = Prospect { executions: 10, failing: 10, complete: false };
    let found = NoReturn { lost_after: 6, passes_after: None, before: Some(before) };
    for news in [
        CheckUpdate::Verdict(CheckState::Failed("it is not known".to_owned())),
        CheckUpdate::Outlook(Outlook::NoReturn(found)),
    ] {
        update(&mut model, Event::Engine(Reply::Check { of: Arc::clone(&of), update: news }));
    }
    command(&mut model, "no-return");
    let expected = "too many schedules follow to prove from which step on all fail";
    assert_eq!(said(&model), expected);
}

#[test]
fn an_explanation_leads_to_the_nearest_passing_schedule() {
    let mut model = explained_with((120, 40), |shown| {
        Some((Arc::clone(shown), Arc::new(LoadedTrace::of(samples::two_tasks()))))
    });
    let Mode::Text(title, ..) = &model.mode else { panic!("{:?}", model.mode) };
    assert_eq!(title, "why it fails (c compares it with the nearest passing schedule)");
    keys(&mut model, "esc");
    command(&mut model, "compare");
    assert!(screen(&model).contains("A fails, B is the nearest schedule that passes"));
}

#[test]
fn the_learning_phase_is_counted() {
    let seen = RefCell::new(Vec::new());
    let tell = |text: &str| seen.borrow_mut().push(text.to_owned());
    for learning in [0, 1, 1_200] {
        LearningProgress(&tell).progress(&Progress { learning, ..half_way() });
    }
    let expected =
        ["learning phase: 1 execution so far", "learning phase: 1,200 executions so far"];
    assert_eq!(seen.into_inner(), expected);
}
