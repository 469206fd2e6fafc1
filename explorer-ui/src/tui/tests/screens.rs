//! Whole screens: each at three sizes, and in every theme.

use super::{keys, model, samples, screen};
use crate::tui::model::Model;
use crate::tui::model::event::Event;
use crate::tui::panes::id::PaneId;
use crate::tui::render;
use crate::tui::theme::Theme;
use crate::tui::update::update;
use crate::walk::check::{CheckState, CheckUpdate};
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::reply::{Explanation, Reply};
use crate::walk::search::SearchUpdate;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};
use replay_core::StrategyChoice;
use replay_core::bisect::{Bisected, Evidence};
use replay_core::runner::{
    Estimate, LookAhead, NearestFailure, NoReturn, OpenBranches, Outlook, Prospect, Tree,
};
use replay_core::source::{Language, Source};
use replay_core::verdict::{Basis, Verdict};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use traces::report::Bug;
use traces::{Choice, FailureKind, TaskId};

type Size = (u16, u16);

/// A failing schedule and one that passes.
type Nearest = Option<(Arc<LoadedTrace>, Arc<LoadedTrace>)>;

/// Builds the model of a screen of this size.
type Build = fn(Size) -> Model;

/// Narrow, usual, and large.
const SIZES: [Size; 3] = [(80, 24), (120, 40), (200, 60)];

/// The size at which the themes are compared.
const THEMED: Size = (120, 40);

/// Every screen, with a name for its snapshot files.
const SCREENS: [(&str, Build); 27] = [
    ("opened", |size| model(samples::lost_update(), size.0, size.1)),
    ("checked", checked),
    ("interleaving", interleaving),
    ("many-tasks", |size| pressed(model(samples::eight_tasks(), size.0, size.1), "j j j")),
    ("lanes", |size| pressed(model(samples::eight_tasks(), size.0, size.1), "j j j A")),
    ("hidden", |size| pressed(model(samples::eight_tasks(), size.0, size.1), "g - # 1 2 enter =")),
    ("switches", |size| pressed(model(samples::eight_tasks(), size.0, size.1), "g alt-z alt-z")),
    ("folded", |size| pressed(model(samples::silent_run(), size.0, size.1), "j j e")),
    ("choice", |size| pressed(model(samples::data_choice(), size.0, size.1), "G k")),
    ("ahead", ahead),
    ("dashboard", searched),
    ("tree", |size| pressed(searched(size), "tab")),
    ("hand-over", |size| pressed(interleaving(size), "g j h down 2")),
    ("source", |size| paned(interleaving(size), PaneId("source"))),
    ("locks", |size| paned(pressed(interleaving(size), "G"), PaneId("locks"))),
    ("causes", |size| paned(interleaving(size), PaneId("causes"))),
    ("graph", |size| paned(interleaving(size), PaneId("graph"))),
    ("values", |size| {
        paned(
            pressed(model(samples::two_tasks(), size.0, size.1), "g # 6 enter W"),
            PaneId("values"),
        )
    }),
    ("stacks", |size| paned(pressed(interleaving(size), "G"), PaneId("stacks"))),
    ("findings", |size| paned(model(samples::assertion(), size.0, size.1), PaneId("findings"))),
    ("compare", compared),
    ("explain", explained),
    ("help", |size| pressed(interleaving(size), "?")),
    ("filtered", |size| pressed(model(samples::lost_update(), size.0, size.1), "& w enter")),
    ("palette", |size| pressed(interleaving(size), ": n e x t")),
    ("tour", |size| pressed(interleaving(size), "T j")),
    ("question", |size| pressed(interleaving(size), "m / l o c k")),
];

fn pressed(mut model: Model, typed: &str) -> Model {
    keys(&mut model, typed);
    model
}

fn paned(mut model: Model, pane: PaneId) -> Model {
    model.pane = pane;
    model
}

/// Two tasks, two steps before they deadlock.
fn interleaving((width, height): Size) -> Model {
    let mut model = model(samples::deadlock(), width, height);
    update(&mut model, Event::Source("src/queue.c".into(), Some(Arc::new(source()))));
    pressed(model, "G k k")
}

/// A failing trace whose verdict was checked, with a ribbon of counted and sampled shares.
fn checked(size: Size) -> Model {
    let mut model = model(samples::lost_update(), size.0, size.1);
    let of = Arc::clone(&model.view.loaded);
    let verdict = Verdict {
        basis: Basis::Runs(Evidence {
            with_failing: 3,
            without_passing: 64,
            ..Evidence::default()
        }),
        ..model.loaded().verdict().expect("it fails").clone()
    };
    let prospect = |failing, complete| Prospect { executions: 10, failing, complete };
    let found = NoReturn { lost_after: 6, passes_after: Some(5), before: Some(prospect(6, true)) };
    let mut updates = vec![
        CheckUpdate::Verdict(CheckState::Done(Box::new(verdict))),
        CheckUpdate::Outlook(Outlook::NoReturn(found)),
    ];
    for (after, failing) in [(5, 6), (4, 4), (3, 2)] {
        updates.push(CheckUpdate::Outlook(Outlook::After(after, prospect(failing, true))));
    }
    for (after, failing) in [(2, 7), (1, 1)] {
        updates.push(CheckUpdate::Outlook(Outlook::After(after, prospect(failing, false))));
    }
    for check in updates {
        update(&mut model, Event::Engine(Reply::Check { of: Arc::clone(&of), update: check }));
    }
    pressed(model, "^")
}

/// A source file with text at each line that the samples refer to.
pub(super) fn source() -> Source {
    let mut lines = vec![String::new(); 100];
    for (line, text) in [
        (1, "#include <pthread.h>"),
        (3, "static pthread_mutex_t fork_a, fork_b; /* on the left, and on the right */"),
        (7, "static void *left(void *plate)"),
        (8, "{"),
        (9, "    pthread_mutex_lock(&fork_a);"),
        (10, "    pthread_mutex_lock(&fork_b);"),
        (11, "    return eat(plate, \"with both\", 2);"),
        (12, "}"),
        (17, "static void *right(void *plate)"),
        (18, "{"),
        (19, "    pthread_mutex_lock(&fork_b);"),
        (20, "    pthread_mutex_lock(&fork_a);"),
        (21, "    return eat(plate, \"with both\", 2);"),
        (22, "}"),
        (30, "    pthread_create(&threads[0], NULL, left, NULL);"),
        (31, "    pthread_create(&threads[1], NULL, right, NULL);"),
        (33, "    pthread_join(threads[0], NULL);"),
    ] {
        lines[line - 1] = text.into();
    }
    Source::of(lines.join("\n").as_bytes(), Some(Language::C))
}

fn task(number: u16) -> Choice {
    Choice::Task(TaskId(number))
}

/// The look-ahead of one choice is known, that of the other is being computed.
fn ahead(size: Size) -> Model {
    let mut model = pressed(interleaving(size), "g j j");
    let ahead = LookAhead {
        executions: 1_204,
        failing: 16,
        nearest: Some(NearestFailure { preemptions: 1, choices: vec![task(0), task(2)] }),
        ..LookAhead::default()
    };
    let reply = Reply::Ahead { generation: model.generation, task: TaskId(2), ahead };
    update(&mut model, Event::Engine(reply));
    model
}

/// A search that is half done.
fn searched(size: Size) -> Model {
    let mut model = pressed(interleaving(size), "g j j h down 2 enter");
    let progress = super::half_way();
    let left = |path: &[u16], others: &[(usize, u16)]| OpenBranches {
        path: path.iter().map(|&number| task(number)).collect(),
        others: others.iter().map(|&(at, number)| (at, task(number))).collect(),
        fresh: false,
    };
    let tree = Tree { left: vec![left(&[1, 1, 2], &[(1, 2), (2, 1)])], gaps: false };
    let found = Bug {
        kind: FailureKind::Deadlock,
        signature: "deadlock:1".into(),
        message: "T1 and T2 wait for each other".into(),
        site: "queue.c:10".into(),
        stack: Vec::new(),
        trace: None,
        found_at: 42,
        preemptions: 1,
        switches: 3,
        steps: 6,
        count: 3,
    };
    for update in [
        SearchUpdate::Progress(progress, Some(tree), None),
        SearchUpdate::Estimate(Estimate { mean: 6.2, least: 4.0, most: 7.1, walks: 16 }),
        SearchUpdate::Found(found, Arc::new(LoadedTrace::of(samples::deadlock()))),
    ] {
        super::update(&mut model, Event::Engine(Reply::Search { number: 1, update }));
    }
    assert_eq!(model.search.as_ref().map(|it| it.order.strategy), Some(StrategyChoice::ICB));
    model
}

fn compared(size: Size) -> Model {
    let mut model = interleaving(size);
    let other = Arc::new(LoadedTrace::of(samples::two_tasks()));
    model.nearest_passing = Some((Arc::clone(&model.view.loaded), other));
    pressed(model, "c")
}

fn explained(size: Size) -> Model {
    explained_with(size, |_| None)
}

/// A failing schedule, the shown page that explains it, and the schedule to compare it with.
pub(super) fn explained_with(size: Size, nearest: impl Fn(&Arc<LoadedTrace>) -> Nearest) -> Model {
    let mut model = interleaving(size);
    let bisected = Bisected {
        failing: samples::deadlock(),
        passing: Some(samples::two_tasks()),
        reversed: 1,
        cause: None,
        evidence: Evidence { with_failing: 3, without_passing: 8, ..Evidence::default() },
        always: false,
    };
    let sources = HashMap::from([("src/queue.c".to_owned(), Arc::new(source()))]);
    let explanation = Box::new(Explanation { bisected, sources });
    let nearest = nearest(&model.view.loaded);
    update(&mut model, Event::Engine(Reply::Explained { explanation, nearest }));
    model
}

/// The style of each cell in each theme: cells with equal styles in all themes have the same
/// letter, and a table gives each letter's style per theme.
fn styles(model: &mut Model) -> String {
    let mut cells = vec![Vec::new(); usize::from(model.size.0) * usize::from(model.size.1)];
    for theme in Theme::ALL {
        model.theme = theme;
        let (width, height) = model.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("in memory");
        terminal.draw(|frame| render::draw(model, frame)).expect("it is drawn");
        for (styles, cell) in cells.iter_mut().zip(&terminal.backend().buffer().content) {
            styles.push(compact(cell.fg, cell.bg, cell.modifier));
        }
    }
    let mut known: Vec<&Vec<String>> = Vec::new();
    let mut grid = String::new();
    for row in cells.chunks(usize::from(model.size.0)) {
        let letters = row.iter().map(|styles| {
            let at = known.iter().position(|other| *other == styles).unwrap_or_else(|| {
                known.push(styles);
                known.len() - 1
            });
            letter(at)
        });
        let line: String = letters.collect();
        grid += line.trim_end_matches('a');
        grid.push('\n');
    }
    let names: Vec<&str> = Theme::ALL.iter().map(|theme| theme.name()).collect();
    let mut text = format!("{grid}\n  {}\n", names.join(" | "));
    for (at, styles) in known.iter().enumerate() {
        writeln!(text, "{} {}", letter(at), styles.join(" | ")).expect("a text takes more");
    }
    text
}

fn letter(at: usize) -> char {
    char::from(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[at])
}

/// A style in a few letters: `#f0c060 on #303648 bold`.
fn compact(fg: Color, bg: Color, modifier: Modifier) -> String {
    let color = |color| match color {
        Color::Reset => "-".to_owned(),
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        named => named.to_string().to_lowercase(),
    };
    let mut text = color(fg);
    if bg != Color::Reset {
        text += &format!(" on {}", color(bg));
    }
    for (name, _) in modifier.iter_names() {
        text += &format!(" {}", name.to_lowercase());
    }
    text
}

#[test]
fn every_screen_at_three_sizes() {
    for (name, build) in SCREENS {
        for (width, height) in SIZES {
            let model = build((width, height));
            insta::assert_snapshot!(format!("{name}-{width}x{height}"), screen(&model));
        }
    }
}

/// The first screens of a trace, where several panes have room.
#[test]
fn large_screens_show_several_panes() {
    for (width, height) in [(160, 45), (300, 100)] {
        for name in ["opened", "interleaving", "checked", "many-tasks"] {
            let (_, build) = SCREENS.iter().find(|one| one.0 == name).expect("a screen");
            let model = build((width, height));
            insta::assert_snapshot!(format!("{name}-{width}x{height}"), screen(&model));
        }
    }
}

#[test]
fn every_screen_in_every_theme() {
    for (name, build) in SCREENS {
        let mut model = build(THEMED);
        insta::assert_snapshot!(format!("{name}-themes"), styles(&mut model));
    }
}

#[test]
fn every_screen_in_ascii() {
    for (name, build) in SCREENS {
        let mut model = build(THEMED);
        model.ascii = true;
        // These pages are formatted with the glyphs of the moment when they are requested.
        if matches!(name, "compare" | "explain") {
            continue;
        }
        let text = screen(&model);
        assert!(text.is_ascii(), "{name}:\n{text}");
        insta::assert_snapshot!(format!("{name}-ascii"), text);
    }
}

/// The title of the source names the task of an asynchronous runtime that the thread executes.
#[test]
fn an_asynchronous_task_is_named_beside_its_source() {
    let mut trace = samples::deadlock();
    let execution = &mut trace.execution;
    execution.async_tasks = vec![traces::AsyncTask { id: 7, name: "app::eat".into() }];
    let threads = [1, 2].map(TaskId);
    let first = |task: TaskId| {
        let step = execution.steps.iter().position(|step| step.task == task).expect("a step");
        traces::AsyncChange { step: step as u64, task, id: 7 }
    };
    let mut changes = threads.map(first).to_vec();
    changes.sort_by_key(|change| change.step);
    execution.async_changes = changes;
    let mut model = model(trace, 120, 30);
    update(&mut model, Event::Source("src/queue.c".into(), Some(Arc::new(source()))));
    keys(&mut model, "G k k");
    assert!(screen(&model).contains("async task 7 (app::eat)"), "{}", screen(&model));
    keys(&mut model, "g");
    assert!(!screen(&model).contains("async task"), "{}", screen(&model));
}
