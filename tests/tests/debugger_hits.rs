//! Every hit of a breakpoint or a watchpoint, once, in the order of the schedule: forwards,
//! backwards, and as the trace and the program imply it.

use std::collections::BTreeMap;
use tests::heddle::Home;
use tests::hits::{
    Debugger, FUNCTIONS, Hit, Kinds, Numbers, Racy, Recorded, VARIABLES, racy, recorded,
};
use tests::rsp::Server;

/// The sessions of a run of the tests, and how many of them use one recorded schedule.
const SESSIONS: u64 = 50;
const TOGETHER: u64 = 5;

/// What a session watches.
struct Chosen {
    functions: Vec<usize>,
    variables: Vec<usize>,
    kinds: Kinds,
}

fn chosen(numbers: &mut Numbers) -> Chosen {
    let mut some = |of: usize, most: usize| {
        let mut all: Vec<usize> = (0..of).filter(|_| numbers.below(2) == 0).collect();
        all.truncate(most);
        all
    };
    let (functions, variables) = (some(FUNCTIONS, FUNCTIONS), some(VARIABLES, 3));
    // A processor has four registers for both.
    let hardware = numbers.below(2) == 0 && functions.len() + variables.len() <= 4;
    Chosen { functions, variables, kinds: Kinds { hardware } }
}

/// The hits of one session, compared in both directions and with the trace; then jumps and steps
/// between them.
fn session(server: &Server, on: &Recorded, program: &Racy, numbers: &mut Numbers, name: &str) {
    let chosen = chosen(numbers);
    let mut debugger = Debugger::new(server);
    // Only there are the addresses of functions computed from main's.
    debugger.goto("start");
    let client = debugger.client();
    let functions = chosen.functions.iter().map(|it| on.address(client, &format!("f{it}")));
    let functions: Vec<u64> = functions.collect();
    let variables = on.variables(client, &chosen.variables);
    debugger.goto(&on.first_position());
    debugger.set(&functions, &variables, chosen.kinds);
    let initial: Vec<u64> = variables.iter().map(|&at| debugger.value(at)).collect();
    let hits = debugger.to_end();
    let forwards: Vec<Hit> = hits.iter().map(|(hit, _)| hit.clone()).collect();
    let what = || {
        format!(
            "{name}, {:?}, breakpoints {:?}, watches {:?}",
            chosen.kinds, chosen.functions, chosen.variables
        )
    };
    // Each thread enters the functions in the order of its text.
    for (thread, calls) in (2u64..).zip(&program.calls) {
        let expected: Vec<u64> = calls
            .iter()
            .filter_map(|call| chosen.functions.iter().position(|it| it == call))
            .map(|at| functions[at])
            .collect();
        let entered = forwards.iter().filter(|hit| hit.value.is_none() && hit.thread == thread);
        let entered: Vec<u64> = entered.map(|hit| hit.at).collect();
        assert_eq!(entered, expected, "thread {thread}, {}: {forwards:x?}", what());
    }
    // Each write is a step of the trace.
    for (&variable, &at) in chosen.variables.iter().zip(&variables) {
        let seen = forwards.iter().filter(|hit| hit.at == at && hit.value.is_some());
        let seen: Vec<(u64, u64)> =
            seen.map(|hit| (hit.thread, hit.value.unwrap_or_default())).collect();
        let expected = on.writes(variable);
        assert_eq!(seen, expected, "v{variable}, {}: {forwards:x?}", what());
    }
    // Backwards, watched memory has the value from before.
    let mut before: BTreeMap<u64, u64> = variables.iter().copied().zip(initial).collect();
    let mut expected: Vec<Hit> = Vec::new();
    for hit in &forwards {
        let value = hit.value.map(|value| before.insert(hit.at, value).unwrap_or(value));
        expected.push(Hit { value, ..hit.clone() });
    }
    expected.reverse();
    // What main initialises comes before.
    let most = if program.storage.is_static() { usize::MAX } else { expected.len() };
    let backwards = debugger.to_beginning(most);
    assert_eq!(backwards, expected, "backwards, {}: {forwards:x?}", what());
    // From any hit, the next one in either direction.
    for _ in 0..3.min(hits.len()) {
        let at = numbers.below(hits.len() as u64) as usize;
        debugger.goto(&hits[at].1);
        let next = debugger.forwards(Some(&hits[at].0));
        assert_eq!(next.as_ref(), forwards.get(at + 1), "after {at}, {}: {forwards:x?}", what());
        debugger.goto(&hits[at].1);
        let back = debugger.backwards();
        // A watched write is undone by going back over it.
        let behind = expected.len() - at - usize::from(hits[at].0.value.is_some());
        assert_eq!(back.as_ref(), expected.get(behind), "before {at}, {}: {forwards:x?}", what());
    }
}

/// The hits forwards, backwards and as the trace implies them are the same, on random programs at
/// all levels of optimisation. `HEDDLE_DEBUGGER_SESSIONS=2000` runs more of them, and
/// `HEDDLE_DEBUGGER_SEED` begins elsewhere.
#[test]
fn hits_are_the_same_forwards_backwards_and_in_the_trace() {
    let number = |name: &str, otherwise| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (sessions, first) =
        (number("HEDDLE_DEBUGGER_SESSIONS", SESSIONS), number("HEDDLE_DEBUGGER_SEED", 1));
    for seed in first..first + sessions.div_ceil(TOGETHER) {
        let mut numbers = Numbers::new(seed);
        let program = racy(&mut numbers);
        let level = ["-O0", "-O1", "-O2", "-O3"][seed as usize % 4];
        let home = Home::new();
        let on = recorded(&home, &program, level, seed);
        let server = Server::start(&home, &on.file, &["--keep", "--at", "main"]);
        for turn in 0..TOGETHER {
            let name = format!("seed {seed} at {level}, session {turn} of\n{}", program.text);
            session(&server, &on, &program, &mut numbers, &name);
        }
    }
}
