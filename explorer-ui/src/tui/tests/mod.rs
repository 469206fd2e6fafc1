//! Tests of the model with sequences of keys.

mod layout;
mod messages;
mod screens;

use crate::report::samples;
use crate::tui::keys::key::Key;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::event::Event;
use crate::tui::model::mode::Mode;
use crate::tui::panes;
use crate::tui::panes::id::PaneId;
use crate::tui::render;
use crate::tui::theme::Theme;
use crate::tui::update::{opened, update};
use crate::walk::check::{CheckState, CheckUpdate};
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::reply::Reply;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::{Backend, TestBackend};
use replay_core::runner::{LookAhead, NearestFailure};
use replay_core::verdict;
use std::sync::Arc;
use traces::{Choice, TaskId, Trace};

fn new_model(trace: Trace, width: u16, height: u16) -> Model {
    super::update::new_model(Arc::new(LoadedTrace::of(trace)), (width, height))
}

fn model(trace: Trace, width: u16, height: u16) -> Model {
    let mut model = new_model(trace, width, height);
    opened(&mut model, None);
    model
}

fn keys(model: &mut Model, keys: &str) -> Vec<Effect> {
    let press = |name: &str| {
        let key: Key = name.parse().unwrap_or_else(|_| panic!("no key is called {name}"));
        update(model, Event::Key(key))
    };
    keys.split(' ').flat_map(press).collect()
}

fn screen(model: &Model) -> String {
    let (width, height) = model.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen in memory");
    terminal.draw(|frame| render::draw(model, frame)).expect("it is drawn");
    let buffer = terminal.backend().buffer();
    let line = |y: u16| {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        cells.trim_end().to_owned() + "\n"
    };
    (0..height).map(line).collect()
}

#[test]
fn every_theme_has_the_same_text_and_different_colours() {
    let mut seen: Vec<(String, String)> = Vec::new();
    for theme in Theme::ALL {
        let mut model = model(samples::deadlock(), 120, 20);
        model.theme = theme;
        let mut terminal = Terminal::new(TestBackend::new(120, 20)).expect("a screen in memory");
        terminal.draw(|frame| render::draw(&model, frame)).expect("it is drawn");
        let styles: Vec<_> =
            terminal.backend().buffer().content.iter().map(|cell| cell.style()).collect();
        seen.push((screen(&model), format!("{styles:?}")));
    }
    assert!(seen.windows(2).all(|pair| pair[0].0 == pair[1].0), "the text is the same");
    for (at, one) in seen.iter().enumerate() {
        assert!(seen[..at].iter().all(|other| other.1 != one.1), "{:?}", Theme::ALL[at]);
    }
}

#[test]
fn ascii_means_ascii() {
    for trace in [samples::deadlock(), samples::silent_run(), samples::data_choice()] {
        let mut model = model(trace, 140, 30);
        model.ascii = true;
        for key in ["j", "tab", "tab", "tab", "tab", "tab", "tab", "tab", "tab", "tab", "Z", "?"] {
            keys(&mut model, key);
            let text = screen(&model);
            assert!(text.is_ascii(), "{text}");
        }
    }
}

#[test]
fn help_and_palette_hold_every_action() {
    let mut model = model(samples::deadlock(), 120, 130);
    keys(&mut model, "?");
    let help = screen(&model);
    for one in crate::tui::commands::all() {
        assert!(help.contains(one.what), "{}", one.name);
    }
    keys(&mut model, "esc : n e x t");
    keys(&mut model, "enter");
    assert_eq!(model.mode, Mode::Normal);
}

/// The help on a screen that is large enough for all of it: groups, keys, signs.
#[test]
fn the_whole_help() {
    let model = model(samples::deadlock(), 120, 40);
    let lines = render::overlay::help_lines(&model);
    let line = |parts: Vec<(String, _)>| parts.into_iter().map(|part| part.0).collect::<String>();
    let text: Vec<String> = lines.into_iter().map(line).collect();
    insta::assert_snapshot!(text.join("\n"));
}

/// The labels of all prompts, and their answers to a text that names nothing here.
#[test]
fn answers_to_wrong_texts() {
    let mut seen = String::new();
    for (name, text) in [
        ("go-to", "x"),
        ("go-to", "9 9 9"),
        ("search", "t :"),
        ("search", "n o t h i n g"),
        ("search-back", "n o t h i n g"),
        ("filter", "t :"),
        ("filter", "n o t h i n g"),
        ("until-object", "n o t h i n g"),
        ("until-line", "x"),
        ("until-line", "9 9"),
        ("watch-expression", "( ("),
        ("pick-task", "x"),
        ("note", "x"),
        ("make-happen", "x"),
    ] {
        let mut model = model(samples::deadlock(), 120, 40);
        let Some(one) = crate::tui::commands::all().iter().find(|one| one.name == name) else {
            seen.push_str(&format!("no command {name}\n"));
            continue;
        };
        keys(&mut model, one.keys[0]);
        let label = match &model.mode {
            Mode::Prompt(question, _) => question.label(),
            _ => "no prompt",
        };
        keys(&mut model, text);
        keys(&mut model, "enter");
        let message = model.message.as_ref().map_or("", |message| message.text.as_str());
        seen.push_str(&format!("{label}: {}\n  {message}\n", text.replace(' ', "")));
    }
    insta::assert_snapshot!(seen);
}

/// The dialog that starts a search, for a strategy with a bound and one without.
#[test]
fn the_dialog_of_a_search_says_what_a_bound_is() {
    let mut model = model(samples::deadlock(), 120, 40);
    keys(&mut model, "h");
    let mut seen = String::new();
    for pressed in ["2", "left", "left", "left", "down", "down", "down", "down", "down", "down"] {
        keys(&mut model, pressed);
        let screen = screen(&model);
        let bound =
            screen.lines().filter(|line| line.contains("bound") || line.contains("at most"));
        let bound: Vec<&str> = bound.map(|line| line.trim_matches(['│', ' '])).collect();
        seen.push_str(&format!("{pressed}: {}\n", bound.join(" / ")));
    }
    insta::assert_snapshot!(seen);
}

/// The footer's message after each command, at the first and the last step of a schedule that fails
/// and of one that passes.
#[test]
fn messages_of_all_commands() {
    let mut seen = String::new();
    let samples = [("fails", samples::deadlock()), ("passes", samples::two_tasks())];
    for (name, trace) in samples {
        for (at, key) in [("first", "g"), ("last", "G")] {
            seen.push_str(&format!("{name}, at the {at} step\n"));
            for one in crate::tui::commands::all() {
                let mut model = model(trace.clone(), 120, 40);
                keys(&mut model, key);
                let Some(key) = one.keys.first() else { continue };
                keys(&mut model, key);
                if let Some(message) = &model.message {
                    seen.push_str(&format!("  {:<22} {}\n", one.name, message.text));
                }
            }
        }
    }
    insta::assert_snapshot!(seen);
}

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

#[test]
fn a_name_of_a_megabyte_leaves_the_screen_readable() {
    let mut trace = samples::lost_update();
    let long = "name_".repeat(200_000);
    trace.execution.objects.iter_mut().for_each(|object| object.name.clone_from(&long));
    let model = model(trace.clone(), 120, 40);
    let text = screen(&model);
    let verdict: Vec<&str> = text.lines().skip(1).take(2).collect();
    assert!(verdict[0].contains("…") && verdict.join(" ").contains("queue.c:10"), "{text}");
    let read = trace.execution.steps[3].object;
    let name = crate::report::names::object_name(&trace, read).expect("a name");
    assert!(name.len() < 1100 && name.contains("(999,000 bytes left out)"), "{name}");
}

#[test]
fn the_terminals_cursor_is_on_the_selected_row_without_colours() {
    let mut model = model(samples::deadlock(), 100, 30);
    let place = |model: &Model| {
        let mut terminal = Terminal::new(TestBackend::new(100, 30)).expect("a screen in memory");
        let drawn = terminal.draw(|frame| render::draw(model, frame)).map(|_| ());
        drawn.expect("it is drawn");
        let at = terminal.backend_mut().get_cursor_position().expect("it has one");
        (at.x, at.y)
    };
    let selected = |model: &Model| {
        let number = format!("{:>4}", model.view.cursor + 1);
        let row = screen(model).lines().position(|row| row.starts_with(&number));
        (0, row.expect("the row") as u16)
    };
    keys(&mut model, "g");
    assert_eq!(place(&model), (0, 0), "colours show the row");
    model.theme = Theme::Plain;
    let first = place(&model);
    assert_eq!(first, selected(&model));
    keys(&mut model, "j j");
    assert_eq!(place(&model), selected(&model));
    assert_eq!(place(&model).1, first.1 + 2);
    keys(&mut model, "/ a b");
    let row = screen(&model).lines().last().expect("the footer").to_owned();
    let typed = row.find("ab").expect("the text") + 2;
    assert_eq!(place(&model), (typed as u16, 29));
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
fn two_schedules_are_compared_on_the_screen() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "c");
    assert!(model.message.as_ref().is_some_and(|it| it.text.contains("nothing to compare")));
    let other = Arc::new(LoadedTrace::of(samples::two_tasks()));
    model.nearest_passing = Some((Arc::clone(&model.view.loaded), other));
    keys(&mut model, "c");
    let Mode::Text(title, lines, _) = &model.mode else { panic!("{:?}", model.mode) };
    assert!(title.contains("nearest schedule that passes"), "{title}");
    assert!(lines.iter().any(|line| line.contains("A deadlock")), "{lines:?}");
    let screen = screen(&model);
    assert!(screen.contains("A deadlock") && screen.contains("esc closes"), "{screen}");
    keys(&mut model, "down down up pagedown esc");
    assert_eq!(model.mode, Mode::Normal);
    assert_eq!(keys(&mut model, "x"), [Effect::Explain]);
    let mut passing = self::model(samples::two_tasks(), 140, 30);
    assert!(!keys(&mut passing, "x").contains(&Effect::Explain));
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
fn a_schedule_is_copied_as_plain_text_unless_it_is_too_long() {
    let mut short = model(samples::deadlock(), 140, 30);
    let effects = keys(&mut short, "Y");
    let [Effect::Copy(text)] = &effects[..] else { panic!("{effects:?}") };
    assert!(text.contains("lock fork_a") && !text.contains('\u{1b}'), "{text}");
    let mut trace = samples::two_tasks();
    trace.execution.steps = trace.execution.steps.repeat(200);
    let mut long = model(trace, 140, 30);
    assert_eq!(keys(&mut long, "Y"), []);
    assert!(long.message.is_some_and(|message| message.bad));
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
fn escapes_of_a_program_do_not_reach_the_screen() {
    let mut trace = samples::strange_names();
    trace.output = b"\x1b[2Jgone\n".to_vec();
    let mut model = model(trace, 140, 30);
    model.pane = PaneId("output");
    assert!(!screen(&model).contains('\u{1b}'));
}

#[test]
fn a_million_steps_cost_no_more_than_a_screen() {
    let mut trace = samples::two_tasks();
    let steps = trace.execution.steps.clone();
    trace.execution.steps = steps.iter().copied().cycle().take(300_000).collect();
    let mut model = model(trace, 200, 60);
    let drawn_at = |model: &mut Model, keys_: &str| {
        keys(model, keys_);
        screen(model)
    };
    assert!(drawn_at(&mut model, "G").contains("300000"));
    assert!(drawn_at(&mut model, "g").contains("   1"));
    assert!(drawn_at(&mut model, "# 1 5 0 0 0 0 enter").contains("150000"));
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

fn any_event() -> impl Strategy<Value = Event> {
    let keys = crate::tui::commands::all().iter().flat_map(|one| one.keys.iter().copied());
    let keys: Vec<&str> = keys.chain(["enter", "X", "delete"]).collect();
    let keys = prop::sample::select(keys);
    prop_oneof![
        8 => keys.prop_map(|key| Event::Key(key.parse().expect("a key"))),
        2 => (0u16..210, 0u16..70).prop_map(|(x, y)| Event::Click(x, y)),
        1 => (0u16..210, 0u16..70).prop_map(|(x, y)| Event::Drag(x, y)),
        1 => (0u16..210, 0u16..70).prop_map(|(x, y)| Event::Release(x, y)),
        1 => (0u16..210, 0u16..70, -3i32..4).prop_map(|(x, y, by)| Event::Wheel(x, y, by)),
        2 => (1u16..500, 1u16..200).prop_map(|(x, y)| Event::Resize(x, y)),
        1 => "\\PC{0,8}".prop_map(Event::Paste),
        2 => (0usize..8).prop_map(|which| {
            let trace = [samples::deadlock, samples::eight_tasks, samples::data_choice,
                samples::strange_names, samples::silent_run, samples::empty, samples::assertion,
                samples::two_tasks][which]();
            Event::Engine(Reply::Ran { loaded: Arc::new(LoadedTrace::of(trace)), cursor: which })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_event_and_no_size_breaks_it(events in prop::collection::vec(any_event(), 1..60)) {
        let mut model = model(samples::deadlock(), 100, 30);
        for event in events {
            update(&mut model, event);
            prop_assert!(model.view.cursor <= model.loaded().len());
            screen(&model);
        }
    }
}

/// The progress of a search that is half done.
fn half_way() -> replay_core::Progress {
    replay_core::Progress {
        learning: 0,
        executions: 12_345,
        distinct: 12_000,
        failing: 3,
        failures: 1,
        elapsed: std::time::Duration::from_secs(2),
        bound: Some(1),
        open: 3,
        covered: None,
        machines: None,
    }
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

fn open_branches(path: &[u16], others: &[(usize, u16)]) -> replay_core::runner::OpenBranches {
    replay_core::runner::OpenBranches {
        path: path.iter().map(|&number| Choice::Task(TaskId(number))).collect(),
        others: others.iter().map(|&(at, number)| (at, Choice::Task(TaskId(number)))).collect(),
        fresh: false,
    }
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
fn shared_and_watched_values_are_shown_with_their_changes() {
    let mut model = model(samples::two_tasks(), 140, 30);
    model.pane = PaneId("values");
    // After the write of q.len.
    keys(&mut model, "g # 6 enter");
    keys(&mut model, "W C");
    assert_eq!(model.watched, ["m"]);
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

#[test]
fn tabs_keep_their_place_and_hidden_ones_are_indicated() {
    let mut model = model(samples::deadlock(), 120, 30);
    let heading = |model: &Model| {
        let row = usize::from(render::layout::areas(model).pane.y);
        screen(model).lines().nth(row).expect("the heading").to_owned()
    };
    let first = heading(&model);
    assert!(first.contains("[source] locks") && first.contains('›'), "{first}");
    let place = |text: &str, name: &str| text.find(name);
    keys(&mut model, "tab");
    let second = heading(&model);
    assert!(second.contains("[locks]"), "{second}");
    assert_eq!(place(&first, "causes"), place(&second, "causes"));
    keys(&mut model, "alt-0");
    let last = heading(&model);
    assert!(last.contains("[tree]") && last.contains('‹') && !last.contains('›'), "{last}");
    keys(&mut model, ": l o k c s enter");
    assert_eq!(model.pane, PaneId("locks"));
}

#[test]
fn the_tour_waits_for_its_own_key() {
    let mut model = model(samples::deadlock(), 120, 30);
    keys(&mut model, "T j");
    assert_eq!(model.tour, Some(1));
    keys(&mut model, "n");
    assert_eq!(model.tour, Some(1), "the page asks for N");
    keys(&mut model, "N");
    assert_eq!(model.tour, Some(2));
}

#[test]
fn descriptions_in_the_palette_are_cut_with_a_sign() {
    let mut model = model(samples::deadlock(), 80, 24);
    keys(&mut model, ": e x p l a i n");
    assert!(screen(&model).contains('…'), "{}", screen(&model));
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
