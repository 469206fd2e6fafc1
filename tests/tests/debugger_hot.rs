//! Backwards through code that is executed many times: what is found is what a run forwards finds,
//! and the time does not grow with the number of events before it.

use std::collections::BTreeMap;
use tests::debugging::{compiled_text, expect, gdb_on};
use tests::heddle::Home;
use tests::hits::{Debugger, Hit, Kinds, Numbers, Symbols};
use tests::hot_loops::{HOT_FUNCTIONS, HOT_VARIABLES, hot};
use tests::rsp::Server;

/// The programs of a run of the tests, and the sessions with each of them.
const PROGRAMS: u64 = 8;
const SESSIONS: u64 = 3;

/// A loop of 1,000,000 turns with events of several kinds. Stopping at each of them takes minutes:
/// no answer of the server may take half of one.
const MILLION: &str = "\
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile long one __attribute__((aligned(64)));
volatile long several __attribute__((aligned(64)));
volatile long called __attribute__((aligned(64)));
volatile long both __attribute__((aligned(64)));
volatile long other;
__attribute__((noipa)) void call(long i)
{
    for (long j = 0; j < 3; j++)
        other += j;
    called = i;
}
static void *run(void *turns)
{
    pthread_mutex_lock(&lock);
    for (long i = 0; i < (long)turns; i++)
        one = i;
    for (long i = 0; i < (long)turns; i++) {
        several = i;
        several += 3;
        if (i & 1)
            several ^= 2;
    }
    for (long i = 0; i < (long)turns; i++)
        call(i);
    for (long i = 0; i < (long)turns / 2; i++)
        both++;
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, run, (void *)1000000l);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
";

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The hits of one session in both directions, then from some of them.
fn session(server: &Server, symbols: &Symbols, numbers: &mut Numbers, name: &str) -> usize {
    let mut some = |letter: char, of: usize| -> Vec<String> {
        (0..of).filter(|_| numbers.below(2) == 0).map(|at| format!("{letter}{at}")).collect()
    };
    let (functions, variables) = (some('g', HOT_FUNCTIONS), some('w', HOT_VARIABLES));
    let mut debugger = Debugger::new(server);
    debugger.goto("start");
    let mut place = |name: &String| symbols.address(debugger.client(), name);
    let functions: Vec<u64> = functions.iter().map(&mut place).collect();
    let variables: Vec<u64> = variables.iter().map(&mut place).collect();
    debugger.set(&functions, &variables, Kinds::default());
    let mut before: BTreeMap<u64, u64> =
        variables.iter().map(|&at| (at, debugger.value(at))).collect();
    let hits = debugger.to_end();
    let mut expected: Vec<Hit> = Vec::new();
    for (hit, _) in &hits {
        let value = hit.value.map(|value| before.insert(hit.at, value).unwrap_or(value));
        expected.push(Hit { value, ..hit.clone() });
    }
    expected.reverse();
    let backwards = debugger.to_beginning(usize::MAX);
    assert_eq!(backwards, expected, "backwards, {name}");
    for _ in 0..4.min(hits.len()) {
        let at = numbers.below(hits.len() as u64) as usize;
        debugger.goto(&hits[at].1);
        let back = debugger.backwards();
        let behind = expected.len() - at - usize::from(hits[at].0.value.is_some());
        assert_eq!(back.as_ref(), expected.get(behind), "before {at}, {name}");
        // And forwards again from there.
        if let Some(back) = back {
            let next = debugger.forwards(Some(&back));
            let again = expected.len() - behind - usize::from(back.value.is_some());
            assert_eq!(next.as_ref(), hits.get(again).map(|(hit, _)| hit), "after {at}, {name}");
        }
    }
    hits.len()
}

/// `HEDDLE_DEBUGGER_PROGRAMS=300` runs more of them, and `HEDDLE_DEBUGGER_SEED` begins elsewhere.
#[test]
fn hits_in_loops_are_the_same_forwards_and_backwards() {
    let (programs, first) =
        (number("HEDDLE_DEBUGGER_PROGRAMS", PROGRAMS), number("HEDDLE_DEBUGGER_SEED", 1));
    let mut most = 0;
    for seed in first..first + programs {
        let mut numbers = Numbers::new(seed);
        let text = hot(&mut numbers);
        let level = ["-O0", "-O1", "-O2", "-O3"][seed as usize % 4];
        let home = Home::new();
        let path = compiled_text(&home, "hot", &text, &[level]);
        let server = Server::start_on(&home, &[&path], &["--keep", "--at", "main"]);
        let symbols = Symbols::of(&path);
        for turn in 0..SESSIONS {
            let name = format!("seed {seed} at {level}, session {turn} of\n{text}");
            most = most.max(session(&server, &symbols, &mut numbers, &name));
        }
    }
    // A run backwards records fewer than this at once.
    assert!(most > 100, "no program has many events: {most}");
}

/// The last writes to variables that are written 1,000,000 times, back over more of them than are
/// found at once, and forwards again.
#[test]
fn the_last_of_a_million_writes_are_found() {
    const BACK: u64 = 40;
    const TURNS: u64 = 1_000_000;
    for level in ["-O0", "-O2"] {
        let home = Home::new();
        let path = compiled_text(&home, "million", MILLION, &[level]);
        let server = Server::start_on(&home, &[&path], &["--keep", "--at", "main"]);
        let symbols = Symbols::of(&path);
        // The values that a thread writes, the last first.
        let one: Vec<u64> = (0..TURNS).rev().collect();
        let several = |turn: u64| {
            let sum = turn + 3;
            match turn & 1 {
                1 => vec![sum ^ 2, sum, turn],
                _ => vec![sum, turn],
            }
        };
        let several: Vec<u64> = (TURNS - BACK..TURNS).rev().flat_map(several).collect();
        let both: Vec<u64> = (TURNS - BACK..=TURNS).rev().collect();
        for (name, values) in
            [("one", &one), ("several", &several), ("called", &one), ("both", &both)]
        {
            let mut debugger = Debugger::new(&server);
            debugger.goto("start");
            let at = symbols.address(debugger.client(), name);
            debugger.set(&[], &[at], Kinds::default());
            debugger.goto("end");
            assert_eq!(debugger.value(at), values[0], "{name} at {level}");
            // Backwards, watched memory has the value from before.
            let expected = values.iter().skip(1).take(BACK as usize);
            for &value in expected.clone() {
                let hit = debugger.backwards();
                assert_eq!(hit, Some(Hit { thread: 3, at, value: Some(value) }), "{name}, {level}");
            }
            let behind: Vec<u64> = values.iter().take(BACK as usize).copied().collect();
            for &value in behind.iter().rev() {
                let hit = debugger.forwards(None);
                assert_eq!(hit, Some(Hit { thread: 3, at, value: Some(value) }), "{name}, {level}");
            }
            assert_eq!(debugger.forwards(None), None, "{name} at {level}");
            debugger.set(&[], &[], Kinds::default());
            debugger.client().ask(&format!("z2,{at:x},8"));
        }
    }
}

/// The last passes of a function that is called 1,000,000 times, and a write before all of them.
#[test]
fn the_last_of_a_million_passes_is_found() {
    for level in ["-O0", "-O2"] {
        let home = Home::new();
        let path = compiled_text(&home, "million", MILLION, &[level]);
        let server = Server::start_on(&home, &[&path], &["--keep", "--at", "main"]);
        let symbols = Symbols::of(&path);
        let mut debugger = Debugger::new(&server);
        debugger.goto("start");
        let call = symbols.address(debugger.client(), "call");
        let called = symbols.address(debugger.client(), "called");
        let at = symbols.address(debugger.client(), "one");
        debugger.set(&[call], &[], Kinds::default());
        debugger.goto("end");
        for turn in (1_000_000 - 40..1_000_000u64).rev() {
            let hit = debugger.backwards();
            assert_eq!(hit, Some(Hit { thread: 3, at: call, value: None }), "{turn} at {level}");
            assert_eq!(debugger.value(called), turn - 1, "at {level}");
        }
        // From the middle of a loop that is run again for each step of the search.
        debugger.client().ask(&format!("z0,{call:x},1"));
        debugger.set(&[], &[at], Kinds::default());
        let hit = debugger.backwards();
        assert_eq!(hit, Some(Hit { thread: 3, at, value: Some(999_998) }), "at {level}");
    }
}

/// The nearest writes are listed without counting all of them, which is said.
#[test]
fn the_nearest_of_a_million_writes_are_listed() {
    let home = Home::new();
    let path = compiled_text(&home, "million", MILLION, &[]);
    let run = gdb_on(&home, &[&path], &["continue", "sched history one"]);
    expect(
        &run,
        &[
            "at least * writes before this position, 0 after it",
            "  -1  step * T2  0xf423e -> 0xf423f",
        ],
    );
    let listed = run.stdout.lines().filter(|line| line.contains(" -> ")).count();
    assert!((500..1000).contains(&listed), "{listed}: {run:?}");
    assert!(run.stdout.contains("  -500  step "), "{run:?}");
}
