//! Tests of the model with sequences of keys.

mod choices;
mod layout;
mod messages;
mod moves;
mod screens;
mod states;
mod work;

use crate::report::samples;
use crate::tui::keys::key::Key;
use crate::tui::model::Model;
use crate::tui::model::effect::Effect;
use crate::tui::model::event::Event;
use crate::tui::model::mode::Mode;
use crate::tui::panes::id::PaneId;
use crate::tui::render;
use crate::tui::theme::Theme;
use crate::tui::update::{opened, update};
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::reply::Reply;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::{Backend, TestBackend};
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

fn open_branches(path: &[u16], others: &[(usize, u16)]) -> replay_core::runner::OpenBranches {
    replay_core::runner::OpenBranches {
        path: path.iter().map(|&number| Choice::Task(TaskId(number))).collect(),
        others: others.iter().map(|&(at, number)| (at, Choice::Task(TaskId(number)))).collect(),
        fresh: false,
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
