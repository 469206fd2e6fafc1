//! Changes to the view: which tasks are shown, and how the screen is divided.

use super::{keys, model, new_model, samples, screen};
use crate::tui::model::effect::Effect;
use crate::tui::model::event::Event;
use crate::tui::model::folding::Fold;
use crate::tui::panes::id::PaneId;
use crate::tui::render::layout::areas;
use crate::tui::update::update;

#[test]
fn tasks_are_hidden_shown_and_pinned() {
    let mut model = model(samples::eight_tasks(), 250, 30);
    keys(&mut model, "g");
    let head = |text: &str| text.lines().nth(1).unwrap_or_default().to_owned();
    assert!(head(&screen(&model)).contains("T0"), "{}", screen(&model));
    keys(&mut model, "-");
    let text = screen(&model);
    assert!(!head(&text).contains("T0") && text.contains("of T0 hidden"), "{text}");
    keys(&mut model, "+");
    assert!(!screen(&model).contains("hidden\n"), "{}", screen(&model));
    // All tasks but one and the pinned ones.
    keys(&mut model, "= # 9 enter _");
    let own = model.loaded().trace.execution.steps[8].task;
    let text = screen(&model);
    assert!(head(&text).contains("T0") && head(&text).contains(&own.to_string()), "{text}");
    assert_eq!(model.hidden.len(), model.loaded().tasks() - 2);
    // The last visible task cannot be hidden.
    keys(&mut model, "- g -");
    assert_eq!(model.hidden.len(), model.loaded().tasks() - 1, "{:?}", model.message);
}

#[test]
fn folding_ranges_from_silent_steps_to_a_line_for_each_switch() {
    let mut model = model(samples::eight_tasks(), 120, 30);
    let mut lengths = vec![model.lines.len()];
    for _ in 0..2 {
        keys(&mut model, "alt-z");
        lengths.push(model.lines.len());
    }
    assert!(lengths.windows(2).all(|pair| pair[0] >= pair[1]), "{lengths:?}");
    assert_eq!(model.fold, Fold::Switches);
    keys(&mut model, "z");
    assert_eq!((model.fold, model.lines.len()), (Fold::Nothing, model.loaded().len()));
    keys(&mut model, "z");
    assert_eq!(model.fold, Fold::Silent);
}

#[test]
fn matches_are_visited_in_both_directions_until_escape() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "g / l o c k enter");
    let first = model.view.cursor;
    keys(&mut model, "n");
    let second = model.view.cursor;
    assert!(first < second, "{first} {second}");
    keys(&mut model, "N");
    assert_eq!(model.view.cursor, first);
    keys(&mut model, "N");
    assert!(model.message.as_ref().is_some_and(|it| it.text == "wrapped around to the end"));
    // Backwards from the start: the last matching row.
    let last = model.view.cursor;
    keys(&mut model, "g \\ l o c k enter");
    assert_eq!(model.view.cursor, last);
    keys(&mut model, "esc");
    assert!(!model.matches);
    keys(&mut model, "n");
    assert!(
        model
            .message
            .as_ref()
            .is_some_and(|it| it.text.contains("failure") || it.text.contains("look-ahead"))
    );
}

#[test]
fn borders_between_panes_are_dragged_within_readable_sizes() {
    for size in [(140, 30), (80, 24)] {
        let mut model = model(samples::deadlock(), size.0, size.1);
        let before = areas(&model);
        if size.0 > 110 {
            let x = before.schedule.width;
            update(&mut model, Event::Click(x, 10));
            update(&mut model, Event::Drag(x - 9, 12));
            update(&mut model, Event::Release(x - 9, 12));
            assert_eq!(areas(&model).schedule.width, x - 9);
            keys(&mut model, "alt-right");
            assert_eq!(areas(&model).schedule.width, x - 5);
        }
        let pane = areas(&model).pane;
        update(&mut model, Event::Click(pane.x + 3, pane.y));
        update(&mut model, Event::Drag(pane.x + 3, pane.y - 1));
        update(&mut model, Event::Release(pane.x + 3, pane.y - 1));
        assert_eq!(areas(&model).pane.height, pane.height + 1, "{size:?}");
        assert_eq!(model.pane, PaneId("source"), "it was moved, not turned");
        for to in [(0, 0), (size.0 - 1, size.1 - 1)] {
            for from in [(before.schedule.width, 10), (pane.x + 3, areas(&model).pane.y)] {
                update(&mut model, Event::Click(from.0, from.1));
                update(&mut model, Event::Drag(to.0, to.1));
                update(&mut model, Event::Release(to.0, to.1));
                let now = areas(&model);
                assert!(now.schedule.height >= 3 && now.schedule.width >= 24, "{now:?}");
                screen(&model);
            }
        }
    }
}

#[test]
fn a_pane_is_chosen_by_its_name_in_the_heading() {
    let mut model = model(samples::deadlock(), 140, 30);
    let pane = areas(&model).pane;
    let row = screen(&model).lines().nth(usize::from(pane.y)).expect("it is there").to_owned();
    let at = row.find("causes").map(|at| row[..at].chars().count()).expect("it is named");
    update(&mut model, Event::Click(at as u16, pane.y));
    update(&mut model, Event::Release(at as u16, pane.y));
    assert_eq!(model.pane, PaneId("causes"));
}

#[test]
fn lanes_show_the_whole_schedule_and_a_click_selects_a_step() {
    let mut model = model(samples::eight_tasks(), 140, 40);
    keys(&mut model, "g A");
    let lanes = areas(&model).lanes;
    assert!(lanes.height > 1, "{lanes:?}");
    update(&mut model, Event::Click(lanes.x + lanes.width - 3, lanes.y));
    assert!(model.view.cursor > model.loaded().len() / 2, "{}", model.view.cursor);
    keys(&mut model, "A");
    assert_eq!(areas(&model).lanes.height, 0);
}

#[test]
fn the_source_of_a_failure_is_shown_if_the_program_ran_on_to_its_exit() {
    let mut trace = samples::assertion();
    // The last step is the program's exit, which has no source line.
    let last = trace.execution.steps.last_mut().expect("steps");
    last.site = traces::Site { module: 0, offset: 0x00ff_ffff };
    let place = trace.failure.as_ref().expect("it fails").place.clone();
    let mut model = new_model(trace, 120, 30);
    keys(&mut model, "G");
    let (file, line) = model.shown_source().expect("it is known");
    assert_eq!(format!("{}:{line}", file.rsplit('/').next().expect("a name")), place);
}

#[test]
fn without_library_source_the_frame_it_is_inlined_into_is_shown() {
    let mut trace = samples::deadlock();
    let site = trace.execution.steps[2].site;
    let own = trace.execution.places.iter_mut().find(|(at, _)| *at == site).expect("a place");
    let mut library = own.1[0].clone();
    library.file = "/library/core/atomic.rs".into();
    own.1.insert(0, library);
    let mut model = model(trace, 120, 30);
    let asks = |effects: &[Effect], wanted: &str| {
        let is = |one: &Effect| matches!(one, Effect::Source(path) if path == wanted);
        effects.iter().any(is)
    };
    let effects = keys(&mut model, "# 3 enter");
    assert!(asks(&effects, "/library/core/atomic.rs"), "{effects:?}");
    let effects = update(&mut model, Event::Source("/library/core/atomic.rs".into(), None));
    let (file, _) = model.shown_source().expect("it is known");
    assert_ne!(file, "/library/core/atomic.rs");
    assert!(asks(&effects, &file), "{effects:?}");
}
