//! How soon a key shows on the screen: `cargo run --release -p explorer-ui --example explorer_speed`.

use explorer_ui::app::loaded::Loaded;
use explorer_ui::app::model::Model;
use explorer_ui::app::render;
use explorer_ui::app::update::{Event, opened, update};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use std::time::{Duration, Instant};
use traces::{
    EnabledChange, Execution, Object, ObjectKind, Operation, Place, Site, Step, TaskId, TaskRecord,
    Trace,
};

const SIZE: (u16, u16) = (200, 60);
const KEYS: [&str; 12] = ["j", "k", "pagedown", "]", "[", "}", "o", "O", ".", ">", "J", "tab"];

/// Four tasks that take turns with a lock: so many steps.
fn trace(steps: usize) -> Trace {
    let site = Site { module: 0, offset: 1 };
    let step = |at: usize| Step {
        task: TaskId((at / 4 % 4) as u16),
        operation: [Operation::Lock, Operation::Read, Operation::Write, Operation::Unlock][at % 4],
        object: Some(u32::from(at % 4 == 1 || at % 4 == 2)),
        site,
        value: at as u64,
    };
    let object = |kind, number| Object { kind, place: Place::Other(number), name: String::new() };
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
        let mut model = Model::new(Arc::new(Loaded::of(trace)), SIZE);
        opened(&mut model, None);
        let loaded = began.elapsed();
        let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).expect("a screen");
        let mut press = |model: &mut Model, keys: &[String]| {
            let began = Instant::now();
            for key in keys {
                update(model, Event::Key(key.clone()));
            }
            terminal.draw(|frame| render::draw(model, frame)).expect("it is drawn");
            began.elapsed()
        };
        let mut times: Vec<Duration> = Vec::new();
        for round in 0..20 {
            // To any step, and from there on by every sort of key.
            let step = (round * 7919 + 13) * 104_729 % steps + 1;
            let mut keys: Vec<String> = vec!["#".into()];
            keys.extend(step.to_string().chars().map(String::from));
            keys.push("enter".into());
            times.push(press(&mut model, &keys));
            times.extend(KEYS.map(|key| press(&mut model, &[key.to_owned()])));
        }
        times.sort_unstable();
        println!(
            "{steps} steps: ready after {loaded:.1?}; key to screen {:.2?} (median), {:.2?} (longest)",
            times[times.len() / 2],
            times[times.len() - 1],
        );
    }
}
