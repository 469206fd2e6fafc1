//! Measures the time from a key press to the updated screen: `cargo run --release -p explorer-ui --example explorer_speed`.

use explorer_ui::report::filter::Filter;
use explorer_ui::report::style::Style;
use explorer_ui::tui::model::Model;
use explorer_ui::tui::model::event::Event;
use explorer_ui::tui::model::job::{Job, JobUpdate, Purpose, RowSearch};
use explorer_ui::tui::render;
use explorer_ui::tui::update::{new_model, opened, update};
use explorer_ui::walk::loaded_trace::LoadedTrace;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use traces::{
    EnabledChange, Execution, Object, ObjectKind, ObjectLocation, Operation, Site, Step, TaskId,
    TaskRecord, Trace,
};

const SIZE: (u16, u16) = (200, 60);
const KEYS: [&str; 12] = ["j", "k", "pagedown", "]", "[", "}", "o", "O", ".", ">", "J", "tab"];

/// A trace of `steps` steps: four tasks alternate in a critical section.
fn trace(steps: usize) -> Trace {
    let site = Site { module: 0, offset: 1 };
    let step = |at: usize| Step {
        task: TaskId((at / 4 % 4) as u16),
        operation: [Operation::Lock, Operation::Read, Operation::Write, Operation::Unlock][at % 4],
        object: Some(u32::from(at % 4 == 1 || at % 4 == 2)),
        site,
        value: at as u64,
    };
    let object =
        |kind, number| Object { kind, place: ObjectLocation::Other(number), name: String::new() };
    let able = |number| EnabledChange { step: 0, task: TaskId(number), enabled: true };
    let execution = Execution {
        tasks: vec![TaskRecord::default(); 4],
        objects: vec![object(ObjectKind::Mutex, 0), object(ObjectKind::Memory, 1)],
        steps: (0..steps).map(step).collect(),
        enabled: (0..4).map(able).collect(),
        ..Execution::default()
    };
    Trace { execution, ..Trace::default() }
}

fn main() {
    for steps in [1_000, 100_000, 1_000_000] {
        let trace = trace(steps);
        let began = Instant::now();
        let mut model = new_model(Arc::new(LoadedTrace::of(trace)), SIZE);
        opened(&mut model, None);
        let loaded = began.elapsed();
        let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).expect("a screen");
        let mut press = |model: &mut Model, keys: &[String]| {
            let began = Instant::now();
            for key in keys {
                update(model, Event::Key(key.parse().expect("a key")));
            }
            terminal.draw(|frame| render::draw(model, frame)).expect("it is drawn");
            began.elapsed()
        };
        let mut times: Vec<Duration> = Vec::new();
        for round in 0..20 {
            // Jump to a step, and then press each of the other keys.
            let step = (round * 7919 + 13) * 104_729 % steps + 1;
            let mut keys: Vec<String> = vec!["#".into()];
            keys.extend(step.to_string().chars().map(String::from));
            keys.push("enter".into());
            times.push(press(&mut model, &keys));
            times.extend(KEYS.map(|key| press(&mut model, &[key.to_owned()])));
        }
        // Searches and filters of text, of which the third is about values.
        let mut longest = Duration::ZERO;
        for typed in ["op:write", "T2 read", "v:77"] {
            for purpose in [Purpose::Move(false), Purpose::Show] {
                let filter = Filter::parse(typed).expect("a filter");
                let glyphs = Style { color: false, ascii: false }.glyphs();
                let loaded = Arc::clone(&model.view.loaded);
                let text = typed.to_owned();
                let search = RowSearch { loaded, text, filter, purpose, glyphs };
                let began = Instant::now();
                let found = Job::Find(search).run(&AtomicBool::new(false), &|_| ());
                let Some(JobUpdate::Found(_, rows)) = found else { panic!("no rows for {typed}") };
                longest = longest.max(began.elapsed());
                std::hint::black_box(rows.len());
            }
        }
        times.sort_unstable();
        println!(
            "{steps} steps: ready after {loaded:.1?}; key to screen {:.2?} (median), {:.2?} (longest); \
             search and filter {longest:.2?} (longest)",
            times[times.len() / 2],
            times[times.len() - 1],
        );
    }
}
