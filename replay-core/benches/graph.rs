//! The time and memory to analyse an execution of 1,000,000 steps, and the time of each query on the
//! result: `cargo bench -p replay-core --bench graph`.

use replay_core::graph::HappensBefore;
use replay_core::step_index::StepIndex;
use std::hint::black_box;
use std::time::Instant;
use traces::{
    EnabledChange, Execution, Object, ObjectKind, ObjectLocation, Operation, Site, Step, TaskId,
    TaskRecord, Trace,
};

/// Tasks that lock, access and unlock objects in a pseudo-random order.
fn execution(steps: usize, tasks: u16, mutexes: u32) -> Trace {
    let mut trace = Trace::default();
    let mut random = 1_u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as u32
    };
    let execution: &mut Execution = &mut trace.execution;
    execution.tasks = vec![TaskRecord::default(); usize::from(tasks)];
    for at in 0..2 * mutexes {
        let kind = if at < mutexes { ObjectKind::Mutex } else { ObjectKind::Memory };
        execution.objects.push(Object {
            kind,
            place: ObjectLocation::Other(at),
            name: format!("o{at}"),
        });
    }
    while execution.steps.len() < steps {
        let (task, mutex) = (TaskId(next() as u16 % tasks), next() % mutexes);
        let at = execution.steps.len() as u64;
        execution.enabled.push(EnabledChange {
            step: at,
            task,
            enabled: !next().is_multiple_of(4),
        });
        for (operation, object) in [
            (Operation::Lock, mutex),
            (Operation::Read, mutexes + next() % mutexes),
            (Operation::Write, mutexes + next() % mutexes),
            (Operation::Unlock, mutex),
        ] {
            let site = Site { module: 0, offset: u64::from(object) };
            execution.steps.push(Step { task, operation, object: Some(object), site, value: 0 });
        }
    }
    trace
}

/// The peak memory of this process, in megabytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}

fn main() {
    const QUESTIONS: usize = 2000;
    for (tasks, mutexes) in [(4, 8), (16, 64), (64, 500)] {
        let trace = execution(1_000_000, tasks, mutexes);
        let before = peak();
        let start = Instant::now();
        let graph = HappensBefore::of(&trace.execution);
        let built = start.elapsed().as_secs_f64() * 1e3;
        let memory = peak() - before;
        let start = Instant::now();
        let positions = StepIndex::of(&trace);
        let prepared = start.elapsed().as_secs_f64() * 1e3;
        let steps = trace.execution.steps.len();
        // The 99th percentile: the maximum only shows other load on the machine.
        let ask = |question: &dyn Fn(usize)| {
            let mut took: Vec<f64> = (0..QUESTIONS)
                .map(|at| {
                    let start = Instant::now();
                    question(at * 499_979 % steps);
                    start.elapsed().as_secs_f64() * 1e6
                })
                .collect();
            took.sort_by(f64::total_cmp);
            took[QUESTIONS * 99 / 100]
        };
        println!(
            "{tasks:3} tasks, {mutexes:3} locks, {steps} steps: graph {built:.0} ms, {memory} MB more; \
             positions {prepared:.0} ms; 99 % of {QUESTIONS} questions within, in microseconds: causes {:.0}, \
             before or after {:.0}, task statuses {:.0}, wait-for edges {:.0}, locks {:.0}",
            ask(&|at| {
                black_box(graph.causes(at));
            }),
            ask(&|at| {
                black_box(graph.relation(at, steps / 2));
            }),
            ask(&|at| {
                black_box(positions.task_statuses(&trace, at));
            }),
            ask(&|at| {
                black_box(positions.waits(&trace, at));
            }),
            ask(&|at| {
                black_box(positions.locks(&trace.execution, at).all().count());
            }),
        );
    }
}
