//! Generated programs whose tasks read and write memory without calling anything, compared with a
//! brute-force enumeration: with compiled instrumentation, jump probes and breakpoint probes a
//! search finds exactly the possible outcomes.

use std::collections::BTreeSet;
use tests::debugging::compiled_text;
use tests::heddle::Home;
use tests::oracle::exit_status::{Numbers, found, programs};

/// The number of words in memory, and the number of values of each.
const WORDS: usize = 3;
const VALUES: u8 = 6;

/// A statement. It reads before it writes, and other tasks may run in between.
#[derive(Debug, Clone, Copy)]
enum Statement {
    /// `w0 = 3`.
    Set(usize, u8),
    /// `w0 = (w1 + 1) % 6`; if both words are the same, compilers may use one instruction less.
    Next(usize, usize),
    /// `if (w1 == 2) w0 = 3`.
    If(usize, usize, u8, u8),
}

impl Statement {
    fn c(self) -> String {
        match self {
            Statement::Set(to, value) => format!("w[{to}] = {value};"),
            Statement::Next(to, from) => {
                format!("w[{to}] = (unsigned char)(w[{from}] + 1) % {VALUES};")
            }
            Statement::If(to, from, is, value) => {
                // Without `NEXT`, a compiler would remove `if (x == 1) x = 1`.
                format!("if (w[{from}] == {is}) {{ NEXT w[{to}] = {value}; }}")
            }
        }
    }

    /// The word that it reads, if any.
    fn reads(self) -> Option<usize> {
        match self {
            Statement::Set(..) => None,
            Statement::Next(_, from) | Statement::If(_, from, ..) => Some(from),
        }
    }

    /// The word and the value that it writes after reading `read`.
    fn writes(self, read: u8) -> Option<(usize, u8)> {
        match self {
            Statement::Set(to, value) => Some((to, value)),
            Statement::Next(to, _) => Some((to, (read + 1) % VALUES)),
            Statement::If(to, _, is, value) => (read == is).then_some((to, value)),
        }
    }
}

/// The statements of each task.
type Program = Vec<Vec<Statement>>;

fn generate(number: usize) -> Program {
    let mut numbers = Numbers(number as u64);
    let tasks = 2 + usize::from(numbers.below(3) == 0);
    let mut statement = || {
        let (to, from) = (numbers.below(WORDS), numbers.below(WORDS));
        let mut value = || numbers.below(usize::from(VALUES)) as u8;
        let (one, other) = (value(), value());
        match numbers.below(4) {
            0 => Statement::Set(to, one),
            1 => Statement::If(to, from, one % 3, other),
            2 => Statement::Next(to, to),
            _ => Statement::Next(to, from),
        }
    };
    (0..tasks).map(|_| (0..5 - tasks).map(|_| statement()).collect()).collect()
}

/// A state: for each task its next statement and the value already read for it; and the memory.
type State = (Vec<(usize, Option<u8>)>, [u8; WORDS]);

/// Every possible final memory of the program.
fn outcomes(program: &Program) -> BTreeSet<u32> {
    let mut seen = BTreeSet::new();
    let mut left: Vec<State> = vec![(vec![(0, None); program.len()], [0; WORDS])];
    let mut ends = BTreeSet::new();
    while let Some((tasks, memory)) = left.pop() {
        if !seen.insert((tasks.clone(), memory)) {
            continue;
        }
        let mut over = true;
        for (task, statements) in program.iter().enumerate() {
            let (at, read) = tasks[task];
            let Some(statement) = statements.get(at) else { continue };
            over = false;
            let (mut tasks, mut memory) = (tasks.clone(), memory);
            match (statement.reads(), read) {
                (Some(from), None) => tasks[task].1 = Some(memory[from]),
                (_, read) => {
                    if let Some((to, value)) = statement.writes(read.unwrap_or(0)) {
                        memory[to] = value;
                    }
                    tasks[task] = (at + 1, None);
                }
            }
            left.push((tasks, memory));
        }
        if over {
            let number =
                memory.iter().fold(0, |sum, value| sum * u32::from(VALUES) + u32::from(*value));
            ends.insert(number);
        }
    }
    ends
}

/// All programs in one source file; an argument selects the one to run.
fn source(all: &[Program]) -> String {
    let mut text = String::from(
        "#include <pthread.h>\n#include <stdlib.h>\n#define NEXT __asm__ volatile(\"\" ::: \"memory\");\n\
        static unsigned char w[8 * 3] __attribute__((aligned(8)));\ntypedef void *(*task)(void *);\n",
    );
    for (number, program) in all.iter().enumerate() {
        for (task, statements) in program.iter().enumerate() {
            // Each word has its own eight bytes, because accesses to the same eight bytes are
            // compared together.
            let lines: Vec<String> = statements.iter().map(|one| one.c()).collect();
            let lines = lines.join(" NEXT ").replace("w[", "w[8 * ");
            text +=
                &format!("static void *p{number}_{task}(void *a) {{ {lines} NEXT return a; }}\n");
        }
    }
    text += "static task tasks[][4] = {\n";
    for (number, program) in all.iter().enumerate() {
        let names: Vec<String> =
            (0..program.len()).map(|task| format!("p{number}_{task}")).collect();
        text += &format!("{{ {}, 0 }},\n", names.join(", "));
    }
    text += &format!(
        "}};\nint main(int argc, char **argv) {{ pthread_t t[3]; int n = 0; task *all = tasks[atoi(argv[1])];\n\
        for (; all[n]; n++) pthread_create(&t[n], 0, all[n], 0);\n\
        for (int i = 0; i < n; i++) pthread_join(t[i], 0);\n\
        return 1 + (w[0] * {VALUES} + w[8]) * {VALUES} + w[16]; }}\n"
    );
    text
}

#[test]
fn a_search_finds_exactly_the_outcomes_of_generated_racing_programs() {
    let home = Home::new();
    let all: Vec<Program> = (0..programs(8)).map(generate).collect();
    let text = source(&all);
    let plain = compiled_text(&home, "plain", &text, &["-O1"]);
    let instrumented = compiled_text(&home, "instrumented", &text, &["-O1", "-fsanitize=thread"]);
    let ways = [(&instrumented, "racy"), (&plain, "racy"), (&plain, "racy:breakpoints")];
    let mut wrong = Vec::new();
    for (number, program) in all.iter().enumerate() {
        let expected = outcomes(program);
        for (binary, points) in ways {
            let args =
                ["explore", "--json", "--keep-going", "--strategy", "dpor", "--workers", "1"];
            let number = number.to_string();
            let rest = ["--max-executions", "0", "--points", points, "--", binary, &number];
            let report = home.heddle(args.iter().chain(&rest)).report();
            let seen = found(&report);
            // Each execution of the search fails with its outcome.
            let failing: u64 = report.bugs.iter().map(|bug| bug.count).sum();
            if seen != expected || !report.complete || failing != report.executions {
                let (kind, why) = (binary.rsplit('/').next().unwrap_or_default(), &report.reason);
                wrong.push(format!(
                    "program {number}, {kind}, {points}: {seen:?}, and not {expected:?} ({why}): {program:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}
