//! Changes to the view: which tasks are shown, and how the screen is divided.

use super::{keys, model, new_model, samples, screen};
use crate::tui::model::Model;
use crate::tui::model::ScheduleView;
use crate::tui::model::effect::Effect;
use crate::tui::model::event::Event;
use crate::tui::model::folding::Fold;
use crate::tui::model::notes::Notes;
use crate::tui::panes::id::PaneId;
use crate::tui::panes::slots::{Slot, slots};
use crate::tui::render::layout::{BESIDE, areas};
use crate::tui::update::update;
use crate::walk::loaded_trace::LoadedTrace;
use ratatui::layout::Rect;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use traces::{Operation, Trace};

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
    assert!(
        model.message.as_ref().is_some_and(|it| it.text.ends_with(", wrapped around to the end"))
    );
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
fn rows_are_found_and_filtered_by_their_parts() {
    let mut model = model(samples::lost_update(), 140, 30);
    let said = |model: &Model| model.message.as_ref().map(|it| it.text.clone()).unwrap_or_default();
    keys(&mut model, "g / t : 2 space w enter");
    assert_eq!((model.view.cursor, said(&model)), (7, "match 1 of 1".to_owned()));
    keys(&mut model, "g / o : t o t a l enter");
    assert_eq!((model.view.cursor, said(&model)), (3, "match 1 of 5".to_owned()));
    keys(&mut model, "n n");
    assert_eq!((model.view.cursor, said(&model)), (6, "match 3 of 5".to_owned()));
    keys(&mut model, "/ t : enter");
    assert!(said(&model).starts_with("`t:` lacks a text"), "{}", said(&model));
    // Only matching rows, and one line for what lies between.
    keys(&mut model, "esc & w enter");
    assert_eq!(said(&model), "2 of 9 rows shown");
    assert_eq!(*model.lines, [0, 6, 7, 8]);
    assert!(screen(&model).contains("6 steps of T0 T1 T2 hidden"), "{}", screen(&model));
    // The filter is shown, and offered for editing.
    assert!(screen(&model).contains("rows: w"), "{}", screen(&model));
    keys(&mut model, "& space t : 1 enter");
    assert_eq!(*model.lines, [0, 6, 7]);
    // A filter without a match changes nothing.
    keys(&mut model, "& x y z enter");
    assert_eq!((model.lines.len(), said(&model)), (3, "no row matches `w t:1xyz`".to_owned()));
    keys(&mut model, "& ctrl-u enter");
    assert_eq!(model.lines.len(), 9);
}

#[test]
fn a_filter_applies_to_the_next_schedule_too() {
    let mut model = model(samples::lost_update(), 140, 30);
    keys(&mut model, "& t : 1 enter");
    let lines = model.lines.len();
    let other = Arc::new(LoadedTrace::of(samples::two_tasks()));
    model.view = ScheduleView { loaded: other, cursor: 0, notes: Notes::new() };
    model.update_lines();
    keys(&mut model, "esc");
    assert_ne!(model.lines.len(), lines);
    let shown = model.shown_rows.as_ref().expect("a filter");
    assert!(shown.is_of(&model.view.loaded), "it was applied");
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
fn open_panes_are_displayed_below_each_other_on_wide_screens() {
    let shown =
        |model: &Model| -> Vec<&str> { slots(model).iter().map(|slot| slot.pane.0).collect() };
    let mut model = model(samples::deadlock(), 200, 60);
    assert_eq!(shown(&model), ["source", "locks", "values"]);
    let before = slots(&model);
    // Selecting an open pane moves none of them.
    keys(&mut model, "tab");
    assert_eq!(model.pane, PaneId("locks"));
    assert_eq!(slots(&model), before);
    // Another one is displayed above them.
    keys(&mut model, "tab");
    assert_eq!(shown(&model), ["causes", "source", "locks", "values"]);
    // The selected pane is added at the end, and removed.
    keys(&mut model, "*");
    assert_eq!(shown(&model), ["source", "locks", "values", "causes"]);
    assert!(model.message.as_ref().is_some_and(|it| it.text.ends_with("values, causes")));
    // It is moved among the others, up to either end.
    keys(&mut model, "alt-, alt-,");
    assert_eq!(shown(&model), ["source", "causes", "locks", "values"]);
    keys(&mut model, "alt-, alt-,");
    assert_eq!(shown(&model), ["causes", "source", "locks", "values"]);
    keys(&mut model, "alt-.");
    assert_eq!(shown(&model), ["source", "causes", "locks", "values"]);
    keys(&mut model, "* alt-.");
    assert!(model.message.as_ref().is_some_and(|it| it.text.contains("* adds it")));
    assert_eq!(shown(&model), ["causes", "source", "locks", "values"]);
    keys(&mut model, "* * alt-1 *");
    assert_eq!(shown(&model), ["source", "locks", "values"]);
    keys(&mut model, "alt-2");
    assert_eq!(shown(&model), ["locks", "values"]);
    // A click on a pane selects it.
    let values = slots(&model)[1].contents;
    update(&mut model, Event::Click(values.x + 2, values.y));
    assert_eq!(model.pane, PaneId("values"));
    keys(&mut model, "Z");
    assert_eq!(shown(&model), ["values"]);
}

#[test]
fn panes_fill_the_space_below_a_short_schedule() {
    let mut model = model(samples::deadlock(), 160, 50);
    let places = |model: &Model| {
        let right = areas(model).pane.x;
        let beside = |slot: &Slot| slot.heading.x == right;
        slots(model).iter().map(|slot| (slot.pane.0, beside(slot))).collect::<Vec<_>>()
    };
    assert_eq!(places(&model), [("source", true), ("locks", false), ("values", false)]);
    let now = areas(&model);
    let (rows, under) = (now.rows, now.under);
    assert!(usize::from(rows.height) > model.lines.len(), "every row has its line");
    assert_eq!((under.x, under.width), (now.schedule.x, now.schedule.width));
    assert_eq!(under.y + under.height, now.footer.y);
    // The panes there take clicks, and the rows above do.
    let locks = slots(&model)[1].contents;
    update(&mut model, Event::Click(locks.x + 2, locks.y));
    assert_eq!(model.pane, PaneId("locks"));
    // A long schedule needs the space itself, and a narrow screen shows one pane.
    let mut long = samples::two_tasks();
    let steps = long.execution.steps.clone();
    long.execution.steps = steps.iter().copied().cycle().take(500).collect();
    assert_eq!(areas(&super::model(long, 160, 50)).under.height, 0);
    assert_eq!(areas(&super::model(samples::deadlock(), 159, 50)).under.height, 0);
}

#[test]
fn the_schedule_is_as_wide_as_its_operations_need() {
    let wide = |trace: &Trace, width| areas(&model(trace.clone(), width, 50)).schedule.width;
    let mut trace = samples::deadlock();
    let before = wide(&trace, 240);
    assert!(before < 240 / 2, "{before}");
    assert_eq!(wide(&trace, 300), before, "further columns are for the sources");
    let name = "a_lock_with_a_long_name".to_owned();
    trace.execution.objects.iter_mut().for_each(|object| object.name.clone_from(&name));
    assert!(wide(&trace, 240) > before);
}

#[test]
fn the_wheel_scrolls_the_pane_under_the_mouse() {
    let mut trace = samples::deadlock();
    trace.output = "a line\n".repeat(60).into_bytes();
    let mut model = model(trace, 200, 40);
    model.open_panes = vec![PaneId("source"), PaneId("output")];
    let shown = |model: &Model| {
        let name = |pane: PaneId| model.pane_tops.get(&pane).copied().unwrap_or(0);
        (model.pane, name(PaneId("source")), name(PaneId("output")))
    };
    let slot = |model: &Model, name| {
        *slots(model).iter().find(|slot| slot.pane == PaneId(name)).expect("it is displayed")
    };
    let output = slot(&model, "output").contents;
    let before = screen(&model);
    update(&mut model, Event::Wheel(output.x + 2, output.y + 1, 1));
    assert_eq!(shown(&model), (PaneId("source"), 0, 3));
    assert_ne!(screen(&model), before);
    // A click selects it where it was scrolled to.
    update(&mut model, Event::Click(output.x + 2, output.y + 1));
    assert_eq!(shown(&model), (PaneId("output"), 0, 3));
    update(&mut model, Event::Wheel(output.x + 2, output.y + 1, -5));
    assert_eq!(shown(&model), (PaneId("output"), 0, 0));
}

#[test]
fn matches_in_a_million_steps_are_numbered() {
    let mut trace = samples::two_tasks();
    let steps = trace.execution.steps.clone();
    trace.execution.steps = steps.iter().copied().cycle().take(1_000_000).collect();
    let writes = trace.execution.steps.iter().filter(|step| step.operation == Operation::Write);
    let all = writes.count();
    assert!(all > 1000, "{all}");
    let mut model = model(trace, 140, 30);
    let effects = keys(&mut model, "/ o p : w r i t e enter");
    let [Effect::StartJob { number, job }] = &effects[..] else { panic!("{effects:?}") };
    let (number, job) = (*number, job.clone());
    let found = job.run(&AtomicBool::new(false), &|_| ()).expect("it is not cancelled");
    update(&mut model, Event::Job { number, update: found });
    let message = |model: &Model| model.message.as_ref().map(|it| it.text.clone());
    let all = crate::report::text::grouped(all as u64);
    assert_eq!(message(&model), Some(format!("match 1 of {all}")));
    // The matches are known: the next one needs no further search.
    assert_eq!(keys(&mut model, "n").iter().filter(|it| is_job(it)).count(), 0);
    assert_eq!(message(&model), Some(format!("match 2 of {all}")));
    // A filter has the same rows, and nothing is found twice.
    let effects = keys(&mut model, "& o p : w r i t e enter");
    assert_eq!(effects.iter().filter(|it| is_job(it)).count(), 1);
}

fn is_job(effect: &Effect) -> bool {
    matches!(effect, Effect::StartJob { .. })
}

#[test]
fn no_value_is_cut_at_any_usual_width() {
    let trace = samples::lost_update();
    for width in [80, 100, 110, 115, 120, 140, 159, 160, 200] {
        let model = model(trace.clone(), width, 30);
        let text = screen(&model);
        for (at, step) in trace.execution.steps.iter().enumerate() {
            let is_access = matches!(step.operation, Operation::Read | Operation::Write);
            let number = format!("{:>4}", at + 1);
            let row = text.lines().find(|line| line.starts_with(&number)).expect("its row");
            let value = format!("= {}", step.value);
            assert!(!is_access || row.contains(&value), "{width}: {row:?}\n{text}");
        }
    }
}

#[test]
fn panes_fill_their_area_without_overlap() {
    for width in [30, 80, 120, 159, 160, 200, 300] {
        for height in [8, 12, 24, 31, 40, 60, 100] {
            let mut model = model(samples::deadlock(), width, height);
            for _ in 0..3 {
                keys(&mut model, "tab *");
            }
            let (area, slots) = (areas(&model).pane, slots(&model));
            if area.height < 2 {
                assert_eq!(slots, [], "{width}x{height}");
                continue;
            }
            // Beside the schedule, and below it.
            let under = areas(&model).under;
            let (beside, below): (Vec<Slot>, Vec<Slot>) =
                slots.iter().partition(|slot| slot.heading.x == area.x);
            let mut columns =
                vec![(beside, Rect { y: area.y + 1, height: area.height - 1, ..area })];
            if width >= BESIDE {
                columns.push((below, under));
            }
            for (slots, area) in columns.into_iter().filter(|(slots, _)| !slots.is_empty()) {
                let mut at = area.y;
                for slot in &slots {
                    assert_eq!(slot.heading.y, at, "{width}x{height}");
                    assert_eq!(slot.contents.y, at + slot.heading.height, "{width}x{height}");
                    assert_eq!((slot.contents.x, slot.contents.width), (area.x, area.width));
                    at = slot.contents.y + slot.contents.height;
                }
                assert_eq!(at, area.y + area.height, "{width}x{height}");
            }
            assert!(slots.iter().any(|slot| slot.pane == model.pane), "{width}x{height}");
            assert!(width >= 160 || slots.len() == 1, "{width}x{height}");
            screen(&model);
        }
    }
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
