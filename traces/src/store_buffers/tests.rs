//! Compares the analysis with an exhaustive simulation of store buffers.

use super::*;
use std::collections::{BTreeSet, VecDeque};

const OBJECTS: usize = 2;

/// A task's program: what it does to which object.
type Program = Vec<Vec<(MemoryEffect, usize)>>;

/// The outcome of an execution: for each load the number of the store that it read from, and the
/// order in which each object was written.
type Outcome = (Vec<Vec<usize>>, Vec<Vec<usize>>);

#[derive(Clone)]
struct State {
    at: Vec<usize>,
    buffers: Vec<VecDeque<(usize, usize)>>,
    memory: [usize; OBJECTS],
    read: Vec<Vec<usize>>,
    written: Vec<Vec<usize>>,
    events: Vec<Event>,
}

/// A number for each store; 0 is the initial value.
fn number(task: usize, at: usize) -> usize {
    task * 10 + at + 1
}

fn write(state: &mut State, object: usize, number: usize) {
    state.memory[object] = number;
    state.written[object].push(number);
}

/// Runs all executions of the program, with or without store buffers, and calls `each` at the end
/// of each.
fn run(program: &Program, buffered: bool, state: State, each: &mut dyn FnMut(&State)) {
    let mut is_end = true;
    for (task, acts) in program.iter().enumerate() {
        if let Some((object, number)) = state.buffers[task].front().copied() {
            is_end = false;
            let mut next = state.clone();
            next.buffers[task].pop_front();
            write(&mut next, object, number);
            run(program, buffered, next, each);
        }
        let Some(&(act, object)) = acts.get(state.at[task]) else { continue };
        is_end = false;
        // A locked instruction and a fence wait until the buffer is empty.
        if matches!(act, MemoryEffect::Update | MemoryEffect::Fence)
            && !state.buffers[task].is_empty()
        {
            continue;
        }
        let mut next = state.clone();
        next.at[task] += 1;
        next.events.push(Event { task, act, object: object as u64 });
        let number = number(task, state.at[task]);
        let own = state.buffers[task].iter().rev().find(|(at, _)| *at == object);
        let found = own.map_or(state.memory[object], |(_, number)| *number);
        match act {
            MemoryEffect::Load => next.read[task].push(found),
            MemoryEffect::Store if buffered => next.buffers[task].push_back((object, number)),
            MemoryEffect::Store => write(&mut next, object, number),
            MemoryEffect::Update => {
                next.read[task].push(found);
                write(&mut next, object, number);
            }
            MemoryEffect::Fence => {}
        }
        run(program, buffered, next, each);
    }
    if is_end {
        each(&state);
    }
}

fn start(program: &Program) -> State {
    State {
        at: vec![0; program.len()],
        buffers: vec![VecDeque::new(); program.len()],
        memory: [0; OBJECTS],
        read: vec![Vec::new(); program.len()],
        written: vec![Vec::new(); OBJECTS],
        events: Vec::new(),
    }
}

/// Whether store buffers allow an outcome that is impossible without them, and whether an execution
/// without them has a borderline.
fn judged(program: &Program) -> (bool, bool) {
    let outcome = |state: &State| -> Outcome { (state.read.clone(), state.written.clone()) };
    let (mut consistent, mut delayed) = (BTreeSet::new(), BTreeSet::new());
    let mut has_borderline = false;
    run(program, false, start(program), &mut |state| {
        consistent.insert(outcome(state));
        has_borderline |= !borderlines(&state.events).is_empty();
    });
    run(program, true, start(program), &mut |state| {
        delayed.insert(outcome(state));
    });
    assert!(consistent.is_subset(&delayed));
    (delayed != consistent, has_borderline)
}

use MemoryEffect::{Fence as F, Load as L, Store as S, Update as U};

#[test]
fn classic_programs() {
    for (what, program, expected) in [
        ("store buffering", vec![vec![(S, 0), (L, 1)], vec![(S, 1), (L, 0)]], true),
        ("with fences", vec![vec![(S, 0), (F, 0), (L, 1)], vec![(S, 1), (F, 0), (L, 0)]], false),
        ("with one fence", vec![vec![(S, 0), (F, 0), (L, 1)], vec![(S, 1), (L, 0)]], true),
        ("by exchanges", vec![vec![(U, 0), (L, 1)], vec![(U, 1), (L, 0)]], false),
        ("a message", vec![vec![(S, 0), (S, 1)], vec![(L, 1), (L, 0)]], false),
        ("loads before stores", vec![vec![(L, 0), (S, 1)], vec![(L, 1), (S, 0)]], false),
        ("one's own store", vec![vec![(S, 0), (L, 0), (L, 1)], vec![(S, 1), (L, 1), (L, 0)]], true),
        ("one store", vec![vec![(S, 0), (L, 1)], vec![(L, 1), (L, 0)]], false),
    ] {
        assert_eq!(judged(&program), (expected, expected), "{what}");
    }
}

#[test]
fn a_borderline_names_the_delayed_store_and_the_load() {
    let event = |task, act, object| Event { task, act, object };
    let events = [event(0, S, 0), event(0, L, 1), event(1, S, 1), event(1, L, 0)];
    assert_eq!(borderlines(&events), [Borderline { store: 2, load: 3, missed: 0 }]);
    assert_eq!(borderlines(&[]), []);
}

/// Every `stride`-th program with this many tasks and events.
fn programs(tasks: usize, len: usize, stride: u64) -> impl Iterator<Item = Program> {
    let acts = [(L, 0), (L, 1), (S, 0), (S, 1), (U, 0), (F, 0)];
    let count = (acts.len() as u64).pow((tasks * len) as u32);
    (0..count).step_by(stride as usize).map(move |mut number| {
        let mut task = || {
            let act = |_| {
                let act = acts[(number % acts.len() as u64) as usize];
                number /= acts.len() as u64;
                act
            };
            (0..len).map(act).collect()
        };
        (0..tasks).map(|_| task()).collect()
    })
}

#[test]
fn a_program_has_a_borderline_exactly_if_delays_change_an_outcome() {
    let (mut shown, mut all) = (0, 0);
    for program in programs(2, 3, 101).chain(programs(3, 2, 131)).chain(programs(2, 4, 400_009)) {
        let (differs, has_borderline) = judged(&program);
        assert_eq!(differs, has_borderline, "{program:?}");
        shown += usize::from(differs);
        all += 1;
    }
    // The test is meaningful only if some programs have a borderline and others do not.
    assert!(shown > 5 && all > 5 * shown, "{shown} of {all}");
}
