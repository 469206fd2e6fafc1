//! Picking the next task, and changes of the schedule.

use super::{keys, model, new_model, screen};
use crate::report::samples;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::event::Event;
use crate::tui::model::mode::Mode;
use crate::tui::update::{opened, update};
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::reply::Reply;
use replay_core::runner::{LookAhead, NearestFailure};
use std::sync::Arc;
use traces::{Choice, TaskId};

#[test]
fn picking_another_task_asks_for_another_execution() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "g j j");
    assert_eq!(model.view.cursor, 2);
    let effects = keys(&mut model, "3");
    let task = |task| Choice::Task(TaskId(task));
    let choices = vec![task(0), task(0), task(2)];
    assert_eq!(effects, [Effect::Run { choices, cursor: 3 }]);
    let before = model.view.loaded.len();
    let loaded = Arc::new(LoadedTrace::of(samples::two_tasks()));
    update(&mut model, Event::Engine(Reply::Ran { loaded, cursor: 3 }));
    assert_eq!((model.view.loaded.len(), model.view.cursor), (8, 3));
    keys(&mut model, "u");
    assert_eq!((model.view.loaded.len(), model.view.cursor), (before, 2));
    keys(&mut model, "U");
    assert_eq!((model.view.loaded.len(), model.view.cursor), (8, 3));
}

#[test]
fn picking_the_task_that_runs_next_is_a_step() {
    let mut model = model(samples::deadlock(), 140, 30);
    let effects = keys(&mut model, "g 1");
    assert!(effects.iter().all(|effect| !matches!(effect, Effect::Run { .. })), "{effects:?}");
    assert_eq!(model.view.cursor, 1);
}

#[test]
fn picking_a_blocked_task_reports_the_reason() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "1");
    let message = model.message.clone().expect("it says why");
    assert!(message.bad && message.text.contains("T0 is not enabled"), "{message:?}");
}

#[test]
fn the_best_move_is_the_one_nearest_to_a_failure() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "g j j");
    let generation = model.generation;
    let ahead = |preemptions, choices| LookAhead {
        executions: 10,
        failing: 1,
        nearest: Some(NearestFailure { preemptions, choices }),
        ..LookAhead::default()
    };
    let way = vec![Choice::Task(TaskId(0)), Choice::Task(TaskId(2))];
    for (task, ahead) in [(1, ahead(2, Vec::new())), (2, ahead(0, way.clone()))] {
        let task = TaskId(task);
        update(&mut model, Event::Engine(Reply::Ahead { generation, task, ahead }));
    }
    let old =
        Reply::Ahead { generation: generation - 1, task: TaskId(0), ahead: LookAhead::default() };
    update(&mut model, Event::Engine(old));
    assert_eq!(model.ahead.len(), 2, "an answer to an older question counts for nothing");
    let effects = keys(&mut model, "N");
    assert_eq!(effects, [Effect::Run { choices: way, cursor: usize::MAX }]);
    let so_far = "running the schedule to the nearest failure that is known so far";
    assert_eq!(model.busy.as_deref(), Some(so_far), "still running");
    let effects = keys(&mut model, "n");
    assert!(matches!(&effects[..], [Effect::Run { cursor: 3, .. }]), "{effects:?}");
}

#[test]
fn any_task_is_picked_by_its_number_or_name() {
    let mut model = model(samples::eight_tasks(), 80, 24);
    keys(&mut model, "# 8 enter");
    assert!(screen(&model).contains("P   and 3 more"), "{}", screen(&model));
    let effects = keys(&mut model, "P T 5 enter");
    let [Effect::Run { choices, cursor: 8 }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(choices.last(), Some(&Choice::Task(TaskId(5))));
    let effects = keys(&mut model, "P l o g enter");
    assert!(!effects.is_empty() && model.view.cursor == 8, "the logger runs next anyway");
    keys(&mut model, "P n o n e enter");
    assert!(model.message.as_ref().is_some_and(|it| it.bad));
}

#[test]
fn pinned_lines_become_a_predicate() {
    let mut model = model(samples::deadlock(), 140, 30);
    let typed = |model: &Model| match &model.mode {
        Mode::Prompt(_, text) => text.clone(),
        other => panic!("{other:?}"),
    };
    keys(&mut model, "# 4 enter @");
    assert_eq!(typed(&model), "T1@queue.c:9");
    // Leaving the prompt keeps it; another step is added.
    keys(&mut model, "esc # 6 enter @");
    assert_eq!(typed(&model), "T1@queue.c:9 && T2@queue.c:19");
    let effects = keys(&mut model, "enter");
    let [.., Effect::Search { order, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(order.wishes, ["T1@queue.c:9 && T2@queue.c:19"]);
    assert_eq!((order.strategy.name(), order.behind()), ("when", 0));
    keys(&mut model, "@ ctrl-u enter");
    assert_eq!(model.wish, "");
}

#[test]
fn two_steps_are_brought_into_the_other_order() {
    let mut model = model(samples::deadlock(), 140, 30);
    let text = |model: &Model| model.message.as_ref().map_or("", |it| &it.text).to_owned();
    let wishes = |effects: Vec<Effect>| {
        let wishes = effects.into_iter().filter_map(|effect| match effect {
            Effect::Reverse(wishes) => Some(wishes),
            _ => None,
        });
        wishes.collect::<Vec<_>>()
    };
    let steps: Vec<u16> =
        model.loaded().trace.execution.steps.iter().map(|step| step.task.0).collect();
    let at = |task: u16| steps.iter().rposition(|&one| one == task).expect("a step") + 1;
    let (one, two) = (at(1), at(2));
    let (first, last) = (one.min(two), one.max(two));
    let effects = keys(&mut model, &format!("# {first} enter r"));
    assert_eq!(wishes(effects).len(), 0);
    assert!(text(&model).starts_with(&format!("step {first} is marked: r at a step")));
    // The same step again forgets it.
    keys(&mut model, "r");
    assert_eq!((text(&model).as_str(), model.marked_step()), ("no step is marked any more", None));
    let [asked] = &wishes(keys(&mut model, &format!("r # {last} enter r")))[..] else {
        panic!("{}", text(&model))
    };
    let [wish] = asked[..] else { panic!("{asked:?}") };
    let execution = model.loaded().trace.execution.clone();
    assert_eq!(wish.first.find(&execution), Some(last - 1));
    assert_eq!(wish.second.find(&execution), Some(first - 1));
    // The schedule with that order is shown, and the order is kept for the next one.
    let mut trace = samples::deadlock();
    trace.execution.steps.swap(first - 1, last - 1);
    let loaded = Arc::new(LoadedTrace::of(trace));
    let found = Reply::Reversed { loaded, step: first - 1, both: true, wishes: asked.clone() };
    update(&mut model, Event::Engine(found));
    assert_eq!(model.view.cursor, first - 1);
    assert!(text(&model).starts_with("in this order it fails: "), "{}", text(&model));
    assert_eq!((model.reversal.pinned.len(), model.marked_step()), (1, None));
    // Reversing the same two again asks for the first order only.
    let [asked] = &wishes(keys(&mut model, &format!("# {first} enter r # {last} enter r")))[..]
    else {
        panic!("{}", text(&model))
    };
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].first, asked[0].second), (wish.second, wish.first));
    keys(&mut model, &format!("esc # {first} enter r"));
    assert_eq!(text(&model), "forgotten: the mark, and 1 pinned order");
    assert_eq!((model.reversal.pinned.len(), model.marked_step()), (0, None));
}

#[test]
fn a_schedule_that_cannot_be_run_reports_it() {
    let mut model = model(samples::deadlock(), 140, 30);
    model.can_run = Err("the program is gone".into());
    let effects = keys(&mut model, "g j j 3");
    let runs = |effect: &Effect| matches!(effect, Effect::Run { .. } | Effect::LookAhead { .. });
    assert!(!effects.iter().any(runs), "{effects:?}");
    assert!(model.message.expect("it says why").text.contains("the program is gone"));
}

#[test]
fn a_schedule_that_can_only_be_read_is_announced() {
    let mut model = new_model(samples::lost_update(), 120, 40);
    model.can_run = Err("the program is gone".to_owned());
    opened(&mut model, None);
    let text = |model: &Model| model.message.as_ref().map_or("", |it| &it.text).to_owned();
    assert_eq!(text(&model), "this schedule can only be read: the program is gone");
    assert!(screen(&model).lines().any(|row| row.contains("next to run cannot be run")));
    for key in ["n", "N"] {
        assert_eq!(keys(&mut model, key), []);
        assert_eq!(text(&model), "there is no look-ahead: the program is gone");
    }
    for key in ["r", "@", "h", "s", "x", "D"] {
        assert_eq!(keys(&mut model, key), []);
        assert!(text(&model).ends_with(": the program is gone"), "{key}: {}", text(&model));
    }
    // Everything that needs no run works.
    keys(&mut model, "g / w enter n");
    assert!(text(&model).starts_with("match 2 of"), "{}", text(&model));
}

fn session_of(model: &Model) -> Option<crate::tui::session::Session> {
    crate::tui::session::read(&crate::tui::session::write(&crate::tui::session::of(model)))
}

#[test]
fn a_failing_trace_opens_on_its_recorded_schedule_after_edits() {
    let mut left = model(samples::deadlock(), 140, 30);
    let edited = Arc::new(LoadedTrace::of(samples::two_tasks()));
    let reply = Reply::Ran { loaded: Arc::clone(&edited), cursor: 3 };
    update(&mut left, Event::Engine(reply));
    assert!(screen(&left).contains("edited (0 returns)  passes"), "{}", screen(&left));
    let mut again = new_model(samples::deadlock(), 140, 30);
    let effects = opened(&mut again, session_of(&left));
    assert!(!effects.iter().any(|one| matches!(one, Effect::Run { .. })), "{effects:?}");
    let text = screen(&again);
    assert!(text.contains("deadlock: T1 and T2 wait") && !text.contains("edited (0"), "{text}");
    assert_eq!(again.view.cursor, 5, "it opens at the step that decides");
    assert!(text.contains("R restores your edited one"), "{text}");
    let effects = keys(&mut again, "R");
    let choices = edited.before(edited.len()).to_vec();
    assert_eq!(effects, [Effect::Run { choices, cursor: 3 }]);
}

#[test]
fn the_failing_schedule_survives_a_fix_and_its_reversal() {
    let mut model = model(samples::deadlock(), 140, 30);
    let failing = Arc::clone(&model.view.loaded);
    let rebuilt_from = |model: &mut Model| {
        let effects = update(model, Event::Rebuilt);
        let [Effect::Reload(from)] = &effects[..] else { panic!("{effects:?}") };
        Arc::clone(from)
    };
    assert!(Arc::ptr_eq(&rebuilt_from(&mut model), &failing));
    // The fixed program passes; the next build is tried with the failing schedule again.
    let passing = Arc::new(LoadedTrace::of(samples::two_tasks()));
    let reloaded = |loaded| Event::Engine(Reply::Reloaded { loaded, what: "rebuilt".into() });
    update(&mut model, reloaded(Arc::clone(&passing)));
    assert!(Arc::ptr_eq(&model.view.loaded, &passing));
    assert!(Arc::ptr_eq(&rebuilt_from(&mut model), &failing));
    // Once it fails again, the schedule of the new build is the one to continue with.
    let again = Arc::new(LoadedTrace::of(samples::deadlock()));
    update(&mut model, reloaded(Arc::clone(&again)));
    assert!(Arc::ptr_eq(&rebuilt_from(&mut model), &again));
}
