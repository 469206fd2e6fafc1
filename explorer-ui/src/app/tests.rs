//! Whole screens, and the model under every key.

use super::engine::Reply;
use super::loaded::Loaded;
use super::model::{Effect, Mode, Model, Pane};
use super::render;
use super::theme::Theme;
use super::update::{Event, opened, update};
use crate::views::samples;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use replay_core::walk::{Ahead, Nearest};
use std::sync::Arc;
use traces::{Choice, TaskId, Trace};

fn model(trace: Trace, width: u16, height: u16) -> Model {
    let mut model = Model::new(Arc::new(Loaded::of(trace)), (width, height));
    opened(&mut model, None);
    model
}

fn keys(model: &mut Model, keys: &str) -> Vec<Effect> {
    keys.split(' ').flat_map(|key| update(model, Event::Key(key.to_owned()))).collect()
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
fn screens_at_three_sizes() {
    for (name, trace) in
        [("deadlock", samples::deadlock()), ("eight tasks", samples::eight_tasks())]
    {
        for (width, height) in [(160, 30), (90, 32), (50, 14)] {
            let mut model = model(trace.clone(), width, height);
            keys(&mut model, "k k");
            insta::assert_snapshot!(format!("{name} {width}x{height}"), screen(&model));
        }
    }
}

#[test]
fn every_theme_says_the_same_and_looks_different() {
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
    let mut model = model(samples::deadlock(), 120, 120);
    keys(&mut model, "?");
    let help = screen(&model);
    for one in super::action::ACTIONS {
        assert!(help.contains(one.what), "{}", one.name);
    }
    keys(&mut model, "esc : n e x t");
    insta::assert_snapshot!("palette", screen(&model));
    keys(&mut model, "enter");
    assert_eq!(model.mode, Mode::Walk);
}

#[test]
fn the_panes_follow_each_other() {
    let mut model = model(samples::deadlock(), 140, 30);
    let mut panes = vec![model.pane];
    for _ in 1..Pane::ALL.len() {
        keys(&mut model, "tab");
        panes.push(model.pane);
    }
    assert_eq!(panes, Pane::ALL);
    model.pane = Pane::Locks;
    insta::assert_snapshot!("locks at the end", screen(&model));
    model.pane = Pane::Causes;
    keys(&mut model, "k");
    insta::assert_snapshot!("causes", screen(&model));
    model.pane = Pane::Graph;
    insta::assert_snapshot!("graph", screen(&model));
}

#[test]
fn picking_another_task_asks_for_another_execution() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "g j j");
    assert_eq!(model.spot.cursor, 2);
    let effects = keys(&mut model, "3");
    let task = |task| Choice::Task(TaskId(task));
    let choices = vec![task(0), task(0), task(2)];
    assert_eq!(effects, [Effect::Run { choices, cursor: 3 }]);
    let before = model.spot.loaded.len();
    let loaded = Arc::new(Loaded::of(samples::two_tasks()));
    update(&mut model, Event::Engine(Reply::Ran { loaded, cursor: 3 }));
    assert_eq!((model.spot.loaded.len(), model.spot.cursor), (8, 3));
    keys(&mut model, "u");
    assert_eq!((model.spot.loaded.len(), model.spot.cursor), (before, 2));
    keys(&mut model, "U");
    assert_eq!((model.spot.loaded.len(), model.spot.cursor), (8, 3));
}

#[test]
fn picking_the_task_that_moves_anyway_is_a_step() {
    let mut model = model(samples::deadlock(), 140, 30);
    let effects = keys(&mut model, "g 1");
    assert!(effects.iter().all(|effect| !matches!(effect, Effect::Run { .. })), "{effects:?}");
    assert_eq!(model.spot.cursor, 1);
}

#[test]
fn who_cannot_move_says_why() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "1");
    let message = model.message.clone().expect("it says why");
    assert!(message.bad && message.text.contains("T0 cannot move"), "{message:?}");
}

#[test]
fn the_best_move_is_the_one_nearest_to_a_failure() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "g j j");
    let generation = model.generation;
    let ahead = |preemptions, choices| Ahead {
        executions: 10,
        failing: 1,
        nearest: Some(Nearest { preemptions, choices }),
        ..Ahead::default()
    };
    let way = vec![Choice::Task(TaskId(0)), Choice::Task(TaskId(2))];
    for (task, ahead) in [(1, ahead(2, Vec::new())), (2, ahead(0, way.clone()))] {
        let task = TaskId(task);
        update(&mut model, Event::Engine(Reply::Ahead { generation, task, ahead }));
    }
    let old = Reply::Ahead { generation: generation - 1, task: TaskId(0), ahead: Ahead::default() };
    update(&mut model, Event::Engine(old));
    assert_eq!(model.ahead.len(), 2, "an answer to an older question counts for nothing");
    insta::assert_snapshot!("ahead", screen(&model));
    let effects = keys(&mut model, "N");
    assert_eq!(effects, [Effect::Run { choices: way, cursor: usize::MAX }]);
    let effects = keys(&mut model, "n");
    assert!(matches!(&effects[..], [Effect::Run { cursor: 3, .. }]), "{effects:?}");
}

#[test]
fn shrinking_shows_the_smallest_and_can_be_taken_back() {
    let mut model = model(samples::deadlock(), 140, 30);
    assert_eq!(keys(&mut model, "s"), [Effect::Shrink]);
    update(&mut model, Event::Engine(Reply::Progress("at 3 preemptions".into())));
    assert_eq!(model.busy.as_deref(), Some("at 3 preemptions"));
    let loaded = Arc::new(Loaded::of(samples::assertion()));
    let what = "from 3 preemptions to 1 preemption: proved minimal".to_owned();
    update(&mut model, Event::Engine(Reply::Shrunk { loaded, what }));
    assert_eq!((model.busy.clone(), model.spot.cursor), (None, model.loaded().len()));
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
    let other = Arc::new(Loaded::of(samples::two_tasks()));
    model.nearest = Some((Arc::clone(&model.spot.loaded), other));
    keys(&mut model, "c");
    let Mode::Text(title, lines, _) = &model.mode else { panic!("{:?}", model.mode) };
    assert!(title.contains("nearest that passes"), "{title}");
    assert!(lines.iter().any(|line| line.contains("A deadlock")), "{lines:?}");
    let screen = screen(&model);
    assert!(screen.contains("A deadlock") && screen.contains("esc closes"), "{screen}");
    keys(&mut model, "down down up pagedown esc");
    assert_eq!(model.mode, Mode::Walk);
    assert_eq!(keys(&mut model, "x"), [Effect::Explain]);
    let mut passing = self::model(samples::two_tasks(), 140, 30);
    assert!(!keys(&mut passing, "x").contains(&Effect::Explain));
}

#[test]
fn a_schedule_that_can_only_be_read_says_so() {
    let mut model = model(samples::deadlock(), 140, 30);
    model.live = Err("the program is gone".into());
    let effects = keys(&mut model, "g j j 3");
    let runs = |effect: &Effect| matches!(effect, Effect::Run { .. } | Effect::Look { .. });
    assert!(!effects.iter().any(runs), "{effects:?}");
    assert!(model.message.expect("it says why").text.contains("the program is gone"));
}

#[test]
fn a_search_goes_round() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "g / l o c k enter");
    assert_eq!(model.spot.cursor, 3);
    keys(&mut model, "/ enter");
    assert_eq!(model.spot.cursor, 5);
    keys(&mut model, "/ enter");
    assert_eq!(model.spot.cursor, 3);
    keys(&mut model, "/ x y z enter");
    assert!(model.message.as_ref().is_some_and(|message| message.bad));
    keys(&mut model, "# 2 enter");
    assert_eq!(model.spot.cursor, 1);
}

#[test]
fn steps_of_one_task_and_steps_that_depend_are_walked_along() {
    let mut model = model(samples::two_tasks(), 140, 30);
    // T1 starts because main created it.
    keys(&mut model, "g j <");
    assert_eq!(model.spot.cursor, 0);
    keys(&mut model, ">");
    assert_eq!(model.spot.cursor, 1);
    // The failed try of main lies between the second and the third step of T1.
    keys(&mut model, ". .");
    assert_eq!(model.spot.cursor, 4);
    keys(&mut model, ",");
    assert_eq!(model.spot.cursor, 2);
    keys(&mut model, ", ,");
    assert_eq!(model.spot.cursor, 1);
    assert!(model.message.is_some(), "it says that there is none before");
    keys(&mut model, "G >");
    assert_eq!(model.spot.cursor, model.loaded().len());
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
fn the_mouse_stands_on_rows_and_picks_tasks() {
    let mut model = model(samples::deadlock(), 140, 30);
    update(&mut model, Event::Click(3, 4));
    assert_eq!(model.spot.cursor, 2);
    let effects = update(&mut model, Event::Click(100, 4));
    assert!(matches!(&effects[..], [Effect::Run { .. }]), "{effects:?}");
    update(&mut model, Event::Wheel(5, 5, -1));
    assert_eq!(model.spot.cursor, 0);
}

#[test]
fn escapes_of_a_program_do_not_reach_the_screen() {
    let mut trace = samples::strange_names();
    trace.output = b"\x1b[2Jgone\n".to_vec();
    let mut model = model(trace, 140, 30);
    model.pane = Pane::Output;
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
    let keys = super::action::ACTIONS.iter().flat_map(|one| one.keys.iter().copied());
    let keys: Vec<&str> = keys.chain(["enter", "X", "delete"]).collect();
    let keys = prop::sample::select(keys);
    prop_oneof![
        8 => keys.prop_map(|key| Event::Key(key.to_owned())),
        2 => (0u16..210, 0u16..70).prop_map(|(x, y)| Event::Click(x, y)),
        1 => (0u16..210, 0u16..70, -3i32..4).prop_map(|(x, y, by)| Event::Wheel(x, y, by)),
        2 => (1u16..500, 1u16..200).prop_map(|(x, y)| Event::Resize(x, y)),
        1 => "\\PC{0,8}".prop_map(Event::Paste),
        2 => (0usize..8).prop_map(|which| {
            let trace = [samples::deadlock, samples::eight_tasks, samples::data_choice,
                samples::strange_names, samples::silent_run, samples::empty, samples::assertion,
                samples::two_tasks][which]();
            Event::Engine(Reply::Ran { loaded: Arc::new(Loaded::of(trace)), cursor: which })
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
            prop_assert!(model.spot.cursor <= model.loaded().len());
            screen(&model);
        }
    }
}

#[test]
fn a_search_is_told_of_on_its_pane_and_at_each_move() {
    use super::hand::News;
    use replay_core::Progress;
    use replay_core::walk::{Estimate, Tree};
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "h");
    assert!(model.message.as_ref().is_some_and(|it| it.text.contains("from the end")));
    keys(&mut model, "g j j h down 2");
    insta::assert_snapshot!("hand over", screen(&model));
    let effects = keys(&mut model, "enter");
    let [Effect::Search { number: 1, order }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((order.strategy.name(), order.bound, order.behind()), ("icb", Some(2), 2));
    assert!(!model.looking, "the machine is the search's");
    let progress = Progress {
        executions: 12_345,
        distinct: 12_000,
        failing: 3,
        failures: 1,
        elapsed: std::time::Duration::from_secs(2),
        bound: Some(1),
        open: 3,
        covered: None,
    };
    let tree = Tree { left: vec![left(&[1, 1, 2], &[(1, 2), (2, 1)])], gaps: false };
    let estimate = Estimate { mean: 6.2, least: 4.0, most: 7.1, walks: 16 };
    let news = |model: &mut Model, number, news| {
        update(model, Event::Engine(Reply::Search { number, news }))
    };
    news(&mut model, 1, News::Progress(progress, Some(tree), None));
    news(&mut model, 1, News::Estimate(estimate));
    news(&mut model, 0, News::Failed("of another search".into()));
    insta::assert_snapshot!("search", screen(&model));
    keys(&mut model, "tab");
    insta::assert_snapshot!("tree", screen(&model));
    assert_eq!(keys(&mut model, "S"), [Effect::StopSearch]);
    let effects = news(&mut model, 1, News::Failed("it was stopped".into()));
    assert!(matches!(&effects[..], [.., Effect::Look { .. }]), "the machine is free again");
}

fn left(path: &[u16], others: &[(usize, u16)]) -> replay_core::walk::Left {
    replay_core::walk::Left {
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
    assert_eq!(model.spot.cursor, 4);
    keys(&mut model, "g i f o r k _ b enter");
    assert_eq!(model.spot.cursor, 5);
    keys(&mut model, "g i n o n e enter");
    assert!(model.message.as_ref().is_some_and(|it| it.bad));
    keys(&mut model, "g l 1 8 enter");
    assert!(model.message.is_none() || model.spot.cursor > 0, "{:?}", model.message);
    keys(&mut model, "g l q u e u e . c : 1 8 enter");
    assert_eq!(model.spot.cursor, 4);
    keys(&mut model, "g J");
    assert_eq!(model.spot.cursor, 1);
}

#[test]
fn bookmarks_and_notes_belong_to_the_steps_that_schedules_have_in_common() {
    let mut model = model(samples::deadlock(), 140, 30);
    keys(&mut model, "g j");
    assert_eq!(keys(&mut model, "m").len(), 1, "they are written at once");
    keys(&mut model, "G k M h i enter");
    keys(&mut model, "g '");
    assert_eq!(model.spot.cursor, 1);
    keys(&mut model, "'");
    assert_eq!((model.spot.cursor, model.spot.notes[&5].as_str()), (5, "hi"));
    let other = Arc::new(Loaded::of(samples::two_tasks()));
    update(&mut model, Event::Engine(Reply::Ran { loaded: other, cursor: 0 }));
    assert_eq!(model.spot.notes.keys().copied().collect::<Vec<_>>(), [1]);
    keys(&mut model, "u");
    assert_eq!(model.spot.notes.len(), 2);
}

#[test]
fn what_is_shared_and_watched_is_told_with_what_changed() {
    let mut model = model(samples::two_tasks(), 140, 30);
    model.pane = Pane::Values;
    // Behind the write of q.len.
    keys(&mut model, "g # 6 enter");
    insta::assert_snapshot!("values", screen(&model));
    keys(&mut model, "W C");
    assert_eq!(model.watched, ["m"]);
}

/// The screen, and under it which style each cell has: a letter, and what the letters mean.
fn styled(model: &Model) -> String {
    let (width, height) = model.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen in memory");
    terminal.draw(|frame| render::draw(model, frame)).expect("it is drawn");
    let buffer = terminal.backend().buffer();
    let mut styles: Vec<String> = Vec::new();
    let mut grid = String::new();
    for y in 0..height {
        let mut line = String::new();
        for x in 0..width {
            let cell = &buffer[(x, y)];
            let style = format!("{:?} on {:?} {:?}", cell.fg, cell.bg, cell.modifier);
            let at = styles.iter().position(|known| *known == style).unwrap_or_else(|| {
                styles.push(style);
                styles.len() - 1
            });
            line.push(char::from(b'a' + at as u8));
        }
        grid += line.trim_end_matches('a');
        grid.push('\n');
    }
    let legend: String = styles
        .iter()
        .enumerate()
        .map(|(at, style)| format!("{} {style}\n", char::from(b'a' + at as u8)))
        .collect();
    format!("{}\n{grid}\n{legend}", screen(model))
}

#[test]
fn every_theme_at_three_sizes() {
    for theme in Theme::ALL {
        for (width, height) in [(140, 24), (90, 24), (50, 12)] {
            let mut model = model(samples::deadlock(), width, height);
            model.theme = theme;
            model.pane = Pane::Locks;
            keys(&mut model, "k");
            let name = format!("theme {} {width}x{height}", theme.name());
            insta::assert_snapshot!(name, styled(&model));
        }
    }
}
