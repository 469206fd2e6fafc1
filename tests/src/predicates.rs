//! What the tests of predicates and of watched conditions share.

use crate::heddle::{Home, Run};
use crate::targets::program;
use traces::report::Report;

/// The kinds of bug of `predicate_kinds`, each with its predicate; `N` is the number of threads.
pub const KINDS: [(&str, &str); 6] = [
    ("divide", "divide@predicate_kinds.c:\"// divide\": divisor == 0"),
    (
        "order",
        "publish@predicate_kinds.c:\"// publish\" && consume@predicate_kinds.c:\"// consume\": \
         ready == 1 && table == NULL",
    ),
    (
        "swap",
        "swap@predicate_kinds.c:\"// swap\" && draw@predicate_kinds.c:\"// draw\": \
         current->kind != kind",
    ),
    ("arrive", "any N@arrive"),
    (
        "deny",
        "T1@predicate_kinds.c:\"// withdraw\" && T2@predicate_kinds.c:\"// withdraw\": \
         wants[0] && wants[1]",
    ),
    (
        "locks",
        "*@predicate_kinds.c:\"// second\" && *@predicate_kinds.c:\"// second\": \
         $1.wanted == $2.held && $2.wanted == $1.held",
    ),
];

/// The path of a program of the manifest, which is built if necessary.
///
/// # Panics
/// If it cannot be built.
#[must_use]
pub fn path(name: &str) -> String {
    let program = program(name);
    let path = program.build().unwrap_or_else(|error| panic!("{}: {error}", program.name));
    path.to_string_lossy().into_owned()
}

/// Numbers drawn from a sequence that is always the same: each call returns one below its argument.
pub fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |bound| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    }
}

/// A script for `predicate_script` of these actions, of 1 to `most` of them.
pub fn script(actions: &[&str], most: u64, below: &mut impl FnMut(u64) -> u64) -> String {
    (0..1 + below(most)).map(|_| actions[below(actions.len() as u64) as usize]).collect()
}

/// Asserts that the searches of one program with the strategies have the result of a search of all
/// schedules, which `result` takes from a report; returns that result.
///
/// # Panics
/// If they differ.
pub fn agree<R: PartialEq + std::fmt::Debug>(
    strategies: &[&str],
    what: &str,
    search: impl Fn(&str) -> Report,
    result: impl Fn(&Report) -> R,
) -> R {
    let all = result(&search("dfs"));
    for strategy in strategies {
        let report = search(strategy);
        assert_eq!(result(&report), all, "{strategy} {what}: {report:?}");
    }
    all
}

/// What the program says to each of these invalid options with their values, one after the other.
///
/// # Panics
/// If one is accepted.
#[must_use]
pub fn messages(home: &Home, program: &str, options: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (option, value) in options {
        let run: Run = home.heddle(["explore", option, value, "--", program]);
        assert_eq!(run.status, 2, "{option} {value}: {run:?}");
        text += &run.stderr;
    }
    text
}

/// In which execution the predicate was satisfied first; 0 in the learning phase.
#[must_use]
pub fn found_at(report: &Report) -> Option<u64> {
    report.satisfied.iter().map(|found| found.found_at).min()
}
