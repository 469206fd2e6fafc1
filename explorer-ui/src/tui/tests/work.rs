//! What takes long: searches, checks, looking ahead, shrinking, and jobs in the background.

use super::{half_way, keys, model, new_model, open_branches, screen};
use crate::report::samples;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::event::Event;
use crate::tui::update::{opened, update};
use crate::walk::check::{CheckState, CheckUpdate};
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::reply::Reply;
use replay_core::runner::LookAhead;
use replay_core::verdict;
use std::sync::Arc;
use traces::TaskId;

#[test]
fn a_finished_look_ahead_is_kept_for_its_step() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "g j j");
    let ahead = LookAhead { executions: 10, failing: 1, ..LookAhead::default() };
    let done = |model: &mut Model, finished| {
        let generation = model.generation;
        let task = TaskId(2);
        let ahead = Reply::Ahead { generation, task, ahead: ahead.clone() };
        update(model, Event::Engine(ahead));
        update(model, Event::Engine(Reply::LookAheadDone { generation, finished }));
    };
    done(&mut model, true);
    keys(&mut model, "j");
    assert!(model.ahead.is_empty() && model.looking_ahead);
    // One that was cancelled is begun anew.
    done(&mut model, false);
    let effects = keys(&mut model, "k");
    assert_eq!(model.ahead.get(&TaskId(2)), Some(&ahead));
    assert!(!effects.iter().any(|it| matches!(it, Effect::LookAhead { .. })), "{effects:?}");
    let effects = keys(&mut model, "j");
    assert!(effects.iter().any(|it| matches!(it, Effect::LookAhead { .. })), "{effects:?}");
    // Back again while it runs: it is of another step.
    assert!(keys(&mut model, "k").contains(&Effect::CancelLookAhead));
}

#[test]
fn shrinking_shows_the_smallest_schedule_and_can_be_undone() {
    let mut model = model(samples::deadlock(), 140, 30);
    assert_eq!(keys(&mut model, "s"), [Effect::Shrink]);
    update(&mut model, Event::Engine(Reply::Progress("at 3 preemptions".into())));
    assert_eq!(model.busy.as_deref(), Some("at 3 preemptions"));
    let loaded = Arc::new(LoadedTrace::of(samples::assertion()));
    let what = "from 3 preemptions to 1 preemption: proved minimal".to_owned();
    update(&mut model, Event::Engine(Reply::Shrunk { loaded, what }));
    assert_eq!((model.busy.clone(), model.view.cursor), (None, model.loaded().len()));
    assert!(model.message.as_ref().is_some_and(|it| it.text.contains("proved minimal")));
    keys(&mut model, "u");
    assert_eq!(model.loaded().trace, samples::deadlock());
    let mut passing = self::model(samples::two_tasks(), 140, 30);
    assert!(!keys(&mut passing, "s").contains(&Effect::Shrink));
}

#[test]
fn long_work_runs_in_the_background_and_can_be_cancelled() {
    use crate::tui::model::job::{Job, JobUpdate};
    let mut trace = samples::two_tasks();
    let steps = trace.execution.steps.clone();
    trace.execution.steps = steps.iter().copied().cycle().take(50_000).collect();
    let mut model = model(trace, 120, 30);
    let begin = |model: &mut Model, text: &str| {
        let effects = keys(model, text);
        let [.., Effect::StartJob { number, job: job @ Job::Find(_) }] = &effects[..] else {
            panic!("{effects:?}")
        };
        (*number, job.clone())
    };
    let (number, job) = begin(&mut model, "g / n o n e enter");
    update(&mut model, Event::Job { number, update: JobUpdate::Progress(40) });
    assert!(screen(&model).contains("searching for `none`: 40 % (esc"), "{}", screen(&model));
    let never = std::sync::atomic::AtomicBool::new(false);
    let parts = std::cell::Cell::new(0);
    let result =
        job.run(&never, &|_| parts.set(parts.get() + 1)).expect("the job is not cancelled");
    assert_eq!(parts.get(), 3, "each part of the schedule");
    update(&mut model, Event::Job { number, update: result });
    assert!(model.message.as_ref().is_some_and(|it| it.text == "no row matches `none`"));
    // The result of a cancelled job is ignored.
    let (number, job) = begin(&mut model, "/ l o c k enter");
    assert!(matches!(&keys(&mut model, "esc")[..], [Effect::Cancel]));
    let result = job.run(&never, &|_| ()).expect("it is short");
    update(&mut model, Event::Job { number, update: result });
    assert_eq!(model.view.cursor, 0);
}

#[test]
fn a_search_is_shown_on_its_pane_and_at_each_choice() {
    use crate::walk::search::SearchUpdate;
    use replay_core::runner::{Estimate, Tree};
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "G h");
    assert!(model.message.as_ref().is_some_and(|it| it.text.contains("at the end")));
    keys(&mut model, "g j j h down 2");
    let effects = keys(&mut model, "enter");
    let [Effect::Search { number: 1, order }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((order.strategy.name(), order.bound, order.behind()), ("icb", Some(2), 2));
    assert!(!model.looking_ahead, "the machine is the search's");
    let progress = half_way();
    let tree = Tree { left: vec![open_branches(&[1, 1, 2], &[(1, 2), (2, 1)])], gaps: false };
    let estimate = Estimate { mean: 6.2, least: 4.0, most: 7.1, walks: 16 };
    let news = |model: &mut Model, number, news| {
        update(model, Event::Engine(Reply::Search { number, update: news }))
    };
    news(&mut model, 1, SearchUpdate::Progress(progress, Some(tree), None));
    news(&mut model, 1, SearchUpdate::Estimate(estimate));
    news(&mut model, 0, SearchUpdate::Failed("of another search".into()));
    assert!(screen(&model).contains("12,345"), "{}", screen(&model));
    keys(&mut model, "tab");
    assert!(screen(&model).contains("explored by the search"), "{}", screen(&model));
    assert_eq!(keys(&mut model, "S"), [Effect::StopSearch]);
    let effects = news(&mut model, 1, SearchUpdate::Failed("it was stopped".into()));
    let free = matches!(&effects[..], [.., Effect::LookAhead { .. }, Effect::Check(_)]);
    assert!(free, "the machine is free again: {effects:?}");
    // It continues where it was stopped.
    let effects = keys(&mut model, "H");
    let [Effect::Search { number: 2, order }] = &effects[..] else { panic!("{effects:?}") };
    assert!(order.resume && order.behind() == 2);
    assert!(!model.looking_ahead && model.search.as_ref().is_some_and(|it| it.is_running()));
    keys(&mut model, "H");
    assert!(model.message.as_ref().is_some_and(|it| it.text == "the search is running"));
}

/// The screen as words: where lines are wrapped does not matter.
fn words(model: &Model) -> String {
    screen(model).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_verdict_is_checked_once_and_not_during_a_search() {
    let mut model = new_model(samples::lost_update(), 120, 40);
    let checks = |effects: &[Effect]| {
        effects.iter().filter(|effect| matches!(effect, Effect::Check(_))).count()
    };
    assert_eq!(checks(&opened(&mut model, None)), 1);
    assert_eq!(model.view.cursor, 6, "the write in between");
    assert!(words(&model).contains("by its pattern; other schedules are being run"));
    assert_eq!(checks(&keys(&mut model, "g G !")), 0);
    assert_eq!(model.view.cursor, 6);
    keys(&mut model, "^");
    let message = model.message.as_ref().map(|it| it.text.as_str());
    assert_eq!(message, Some("the point of no return is still being searched for"));
    // A schedule that passes has no verdict; the way back needs no second check.
    let loaded = Arc::new(LoadedTrace::of(samples::two_tasks()));
    let effects = update(&mut model, Event::Engine(Reply::Ran { loaded, cursor: 3 }));
    assert_eq!(checks(&effects), 0);
    assert!(!screen(&model).contains("came between"), "{}", screen(&model));
    assert_eq!(checks(&keys(&mut model, "u")), 0);
    // A search stops the check; it starts again when the search has ended.
    keys(&mut model, "g h enter");
    assert!(model.check().is_none());
    let update_ = crate::walk::search::SearchUpdate::Failed("it was stopped".into());
    let effects = update(&mut model, Event::Engine(Reply::Search { number: 1, update: update_ }));
    assert_eq!(checks(&effects), 1);
}

#[test]
fn the_cursor_goes_to_the_step_that_a_check_finds_until_the_first_key() {
    for (typed, wanted) in [(None, 3), (Some("j"), 7)] {
        let mut model = new_model(samples::lost_update(), 120, 40);
        opened(&mut model, None);
        assert_eq!(model.view.cursor, 6);
        typed.map(|typed| keys(&mut model, typed));
        let of = Arc::clone(&model.view.loaded);
        let mut verdict = of.verdict().expect("it fails").clone();
        let verdict::Pattern::Between { inner, .. } = &mut verdict.pattern else {
            panic!("{verdict:?}")
        };
        (inner.0.step, inner.1.step) = (Some(3), Some(3));
        let update_ = CheckUpdate::Verdict(CheckState::Done(Box::new(verdict)));
        update(&mut model, Event::Engine(Reply::Check { of, update: update_ }));
        assert_eq!(model.view.cursor, wanted, "{typed:?}");
    }
}

#[test]
fn a_trace_whose_program_is_gone_has_a_verdict_from_the_recording() {
    let mut model = new_model(samples::lost_update(), 120, 40);
    model.can_run = Err("there is no such file".into());
    assert!(opened(&mut model, None).iter().all(|effect| !matches!(effect, Effect::Check(_))));
    let text = words(&model);
    assert!(text.contains("came between") && text.contains("from the recording alone"), "{text}");
}
