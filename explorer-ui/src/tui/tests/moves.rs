//! Moving through a schedule.

use super::{keys, model};
use crate::report::samples;
use crate::tui::model::effect::Effect;
use crate::tui::model::event::Event;
use crate::tui::panes;
use crate::tui::panes::id::PaneId;
use crate::tui::render;
use crate::tui::update::update;
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::reply::Reply;
use std::sync::Arc;

#[test]
fn keys_switch_between_panes() {
    let mut model = model(samples::deadlock(), 140, 30);
    let mut shown = vec![model.pane];
    for _ in 1..panes::ids().len() {
        keys(&mut model, "tab");
        shown.push(model.pane);
    }
    assert_eq!(shown, panes::ids().collect::<Vec<_>>());
}

#[test]
fn a_text_search_wraps_around() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "g / l o c k enter");
    assert_eq!(model.view.cursor, 3);
    keys(&mut model, "/ enter");
    assert_eq!(model.view.cursor, 5);
    keys(&mut model, "/ enter");
    assert_eq!(model.view.cursor, 3);
    keys(&mut model, "/ x y z enter");
    assert!(model.message.as_ref().is_some_and(|message| message.bad));
    keys(&mut model, "# 2 enter");
    assert_eq!(model.view.cursor, 1);
}

#[test]
fn keys_follow_the_steps_of_a_task_and_dependences() {
    let mut model = model(samples::two_tasks(), 140, 30);
    // T1 starts because main created it.
    keys(&mut model, "g j <");
    assert_eq!(model.view.cursor, 0);
    keys(&mut model, ">");
    assert_eq!(model.view.cursor, 1);
    // The failed `trylock` of main is between the second and the third step of T1.
    keys(&mut model, ". .");
    assert_eq!(model.view.cursor, 4);
    keys(&mut model, ",");
    assert_eq!(model.view.cursor, 2);
    keys(&mut model, ", ,");
    assert_eq!(model.view.cursor, 1);
    assert!(model.message.is_some(), "it says that there is none before");
    keys(&mut model, "G >");
    assert_eq!(model.view.cursor, model.loaded().len());
}

#[test]
fn a_jump_can_be_undone() {
    let mut model = model(samples::eight_tasks(), 120, 30);
    keys(&mut model, "g j # 1 2 enter");
    assert_eq!(model.view.cursor, 11);
    // Moving by lines is not a jump.
    keys(&mut model, "j j # 2 0 enter");
    keys(&mut model, "ctrl-o");
    assert_eq!(model.view.cursor, 13);
    keys(&mut model, "ctrl-o");
    assert_eq!(model.view.cursor, 1);
    keys(&mut model, "alt-o alt-o");
    assert_eq!(model.view.cursor, 19);
    keys(&mut model, "alt-o");
    assert_eq!(model.view.cursor, 19);
    assert!(model.message.as_ref().is_some_and(|it| it.text.contains("no jump")));
}

#[test]
fn running_on_until_something_happens() {
    let mut model = model(samples::deadlock(), 140, 30);
    // T1 is preempted by T2 at step 5.
    keys(&mut model, "g j j p");
    assert_eq!(model.view.cursor, 4);
    keys(&mut model, "g i f o r k _ b enter");
    assert_eq!(model.view.cursor, 5);
    keys(&mut model, "g i n o n e enter");
    assert!(model.message.as_ref().is_some_and(|it| it.bad));
    keys(&mut model, "g l 1 8 enter");
    assert!(model.message.is_none() || model.view.cursor > 0, "{:?}", model.message);
    keys(&mut model, "g l q u e u e . c : 1 8 enter");
    assert_eq!(model.view.cursor, 4);
    keys(&mut model, "g J");
    assert_eq!(model.view.cursor, 1);
}

#[test]
fn bookmarks_and_notes_belong_to_the_steps_that_schedules_have_in_common() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "g j");
    assert_eq!(keys(&mut model, "m").len(), 1, "they are written at once");
    keys(&mut model, "G k M h i enter");
    keys(&mut model, "g '");
    assert_eq!(model.view.cursor, 1);
    keys(&mut model, "'");
    assert_eq!((model.view.cursor, model.view.notes[&5].as_str()), (5, "hi"));
    let other = Arc::new(LoadedTrace::of(samples::two_tasks()));
    update(&mut model, Event::Engine(Reply::Ran { loaded: other, cursor: 0 }));
    assert_eq!(model.view.notes.keys().copied().collect::<Vec<_>>(), [1]);
    keys(&mut model, "u");
    assert_eq!(model.view.notes.len(), 2);
}

#[test]
fn the_mouse_selects_rows_and_picks_tasks() {
    let mut model = model(samples::deadlock(), 140, 30);
    let areas = render::layout::areas(&model);
    update(&mut model, Event::Click(3, areas.rows.y + 2));
    assert_eq!(model.view.cursor, 2);
    // Below the heading and two tasks.
    let effects = update(&mut model, Event::Click(100, areas.choices.y + 3));
    assert!(matches!(&effects[..], [Effect::Run { .. }]), "{effects:?}");
    update(&mut model, Event::Wheel(5, 5, -1));
    assert_eq!(model.view.cursor, 0);
}

#[test]
fn shared_and_watched_values_are_shown_with_their_changes() {
    let mut model = model(samples::two_tasks(), 140, 30);
    model.pane = PaneId("values");
    // After the write of q.len.
    keys(&mut model, "g # 6 enter");
    keys(&mut model, "W C");
    assert_eq!(model.watched, ["m"]);
}
