//! Generated programs whose tasks access overlapping memory in pieces of different sizes, compared with
//! a brute-force enumeration of all schedules: a search by `dpor` finds exactly the possible outcomes,
//! in exactly one execution for each class of schedules.

use std::collections::BTreeSet;
use std::ops::Range;
use tests::debugging::compiled_text;
use tests::heddle::Home;
use tests::oracle::exit_status::{Numbers, found, programs};

/// The size of the memory: three words.
const BYTES: usize = 24;
/// The number of outcomes that are distinguished; each is an exit status.
const OUTCOMES: u32 = 251;

type Memory = [u8; BYTES];

/// A statement. It reads before it writes, and other tasks may run in between.
#[derive(Debug, Clone)]
enum Statement {
    /// Writes the same value to all bytes, with one instruction.
    Store(Range<usize>, u8),
    /// Adds one to the number in these bytes.
    Add(Range<usize>),
    /// Copies these bytes to others.
    Copy(Range<usize>, usize),
    /// The same as `Store`, for any number of bytes, by a call of `memset`.
    Fill(Range<usize>, u8),
}

impl Statement {
    fn c(&self) -> String {
        let place = |bytes: &Range<usize>| format!("*(u{}*)(m + {})", bytes.len(), bytes.start);
        match self {
            Statement::Store(to, value) => {
                let value = u64::from_ne_bytes([*value; 8]);
                format!("{} = (u{}){value:#x}ul;", place(to), to.len())
            }
            Statement::Add(at) => {
                format!("{{ u{} x = {1}; NEXT {1} = x + 1; }}", at.len(), place(at))
            }
            Statement::Copy(from, to) => {
                let to = *to..to + from.len();
                format!("{{ u{} x = {}; NEXT {} = x; }}", from.len(), place(from), place(&to))
            }
            Statement::Fill(to, value) => format!("fill(m + {}, {value}, {});", to.start, to.len()),
        }
    }

    /// The accesses, each one step: the bytes, and whether it writes. A call fills the largest piece of 1, 2, 4 or 8
    /// bytes that is aligned, and so on.
    fn steps(&self) -> Vec<(Range<usize>, bool)> {
        match self {
            Statement::Fill(to, _) => {
                let (mut pieces, mut at) = (Vec::new(), to.start);
                while at < to.end {
                    let fits = |size: &usize| at.is_multiple_of(*size) && at + size <= to.end;
                    let end = at + [8, 4, 2].into_iter().find(fits).unwrap_or(1);
                    pieces.push((at..end, true));
                    at = end;
                }
                pieces
            }
            Statement::Store(to, _) => vec![(to.clone(), true)],
            Statement::Add(at) => vec![(at.clone(), false), (at.clone(), true)],
            Statement::Copy(from, to) => {
                vec![(from.clone(), false), (*to..to + from.len(), true)]
            }
        }
    }

    /// What a step of it writes to so many bytes after reading `read`.
    fn value(&self, read: &[u8], len: usize) -> Vec<u8> {
        match self {
            Statement::Store(_, value) | Statement::Fill(_, value) => vec![*value; len],
            Statement::Copy(..) => read.to_vec(),
            Statement::Add(at) => {
                let mut bytes = [0; 8];
                bytes[..at.len()].copy_from_slice(read);
                let next = u64::from_le_bytes(bytes).wrapping_add(1).to_le_bytes();
                next[..at.len()].to_vec()
            }
        }
    }
}

/// A task and the number of its step.
type StepNumber = (usize, usize);

/// The statements of each task.
type Program = Vec<Vec<Statement>>;

/// Where an access of this size begins: mostly aligned, and around the border of two words.
fn place(numbers: &mut Numbers, size: usize) -> Range<usize> {
    let from = 4 + numbers.below(12 / size + 1) * size;
    let from = if numbers.below(4) == 0 { from + numbers.below(3) } else { from };
    let from = from.min(BYTES - size);
    from..from + size
}

fn statement(numbers: &mut Numbers) -> Statement {
    let size = 1 << numbers.below(4);
    let value = 1 + numbers.below(3) as u8;
    let at = place(numbers, size);
    match numbers.below(5) {
        0 | 1 => Statement::Store(at, value),
        2 => Statement::Add(at),
        3 => Statement::Copy(at, place(numbers, size).start),
        _ => {
            let len = 1 + numbers.below(BYTES - 4);
            let from = numbers.below(BYTES - len + 1);
            Statement::Fill(from..from + len, value)
        }
    }
}

fn generate(number: usize) -> Program {
    let mut numbers = Numbers(number as u64);
    let tasks = 2 + usize::from(numbers.below(3) == 0);
    (0..tasks).map(|_| (0..5 - tasks).map(|_| statement(&mut numbers)).collect()).collect()
}

/// The outcomes and the number of classes of a program's schedules.
struct All<'a> {
    program: &'a Program,
    /// The steps of each task: the statement, the bytes, and whether it writes.
    steps: Vec<Vec<(usize, Range<usize>, bool)>>,
    outcomes: BTreeSet<u32>,
    /// For each class, which step of each dependent pair comes first.
    classes: BTreeSet<Vec<(StepNumber, StepNumber)>>,
}

impl<'a> All<'a> {
    fn of(program: &'a Program) -> All<'a> {
        let steps = |task: &Vec<Statement>| {
            let each = task.iter().enumerate().flat_map(|(at, statement)| {
                statement.steps().into_iter().map(move |(bytes, writes)| (at, bytes, writes))
            });
            each.collect()
        };
        let steps = program.iter().map(steps).collect();
        let mut all = All { program, steps, outcomes: BTreeSet::new(), classes: BTreeSet::new() };
        let begin = (vec![0; program.len()], vec![Vec::new(); program.len()]);
        all.extend(&mut Vec::new(), begin, [0; BYTES]);
        all
    }

    /// Runs every continuation of a schedule. `tasks`: the next step of each task, and what it read
    /// last.
    fn extend(
        &mut self,
        schedule: &mut Vec<StepNumber>,
        (at, read): (Vec<usize>, Vec<Vec<u8>>),
        memory: Memory,
    ) {
        let mut over = true;
        for task in 0..self.program.len() {
            let Some((statement, bytes, writes)) = self.steps[task].get(at[task]).cloned() else {
                continue;
            };
            over = false;
            let (mut at, mut read, mut memory) = (at.clone(), read.clone(), memory);
            if writes {
                let value = self.program[task][statement].value(&read[task], bytes.len());
                memory[bytes].copy_from_slice(&value);
            } else {
                read[task] = memory[bytes].to_vec();
            }
            schedule.push((task, at[task]));
            at[task] += 1;
            self.extend(schedule, (at, read), memory);
            schedule.pop();
        }
        if over {
            self.outcomes.insert(outcome(&memory));
            self.classes.insert(self.class(schedule));
        }
    }

    fn class(&self, schedule: &[StepNumber]) -> Vec<(StepNumber, StepNumber)> {
        let depend = |one: StepNumber, other: StepNumber| {
            let (_, ours, we_write) = &self.steps[one.0][one.1];
            let (_, theirs, they_write) = &self.steps[other.0][other.1];
            let overlap = ours.start < theirs.end && theirs.start < ours.end;
            one.0 != other.0 && overlap && (*we_write || *they_write)
        };
        let mut pairs = Vec::new();
        for (number, &one) in schedule.iter().enumerate() {
            pairs.extend(
                schedule[number..]
                    .iter()
                    .filter(|&&other| depend(one, other))
                    .map(|&other| (one, other)),
            );
        }
        pairs.sort_unstable();
        pairs
    }
}

/// What the program exits with, but 1.
fn outcome(memory: &Memory) -> u32 {
    memory.iter().fold(0u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % OUTCOMES
}

/// All programs in one source file; an argument selects the one to run.
fn source(all: &[Program]) -> String {
    let mut text = String::from(
        "#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\n\
        #define NEXT __asm__ volatile(\"\" ::: \"memory\");\n\
        #define SIZE(n, type) typedef type u##n __attribute__((aligned(1), may_alias));\n\
        SIZE(1, unsigned char) SIZE(2, unsigned short) SIZE(4, unsigned) SIZE(8, unsigned long)\n",
    );
    text += &format!(
        "static unsigned char m[{BYTES}] __attribute__((aligned(8)));\n\
        typedef void *(*task)(void *);\n\
        __attribute__((noipa)) static void fill(unsigned char *to, int value, size_t size) {{\n\
        memset(to, value, size); }}\n"
    );
    for (number, program) in all.iter().enumerate() {
        for (task, statements) in program.iter().enumerate() {
            let lines: Vec<String> = statements.iter().map(Statement::c).collect();
            let lines = lines.join(" NEXT ");
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
        unsigned sum = 0; for (int i = 0; i < {BYTES}; i++) sum = sum * 31 + m[i];\n\
        return 1 + sum % {OUTCOMES}; }}\n"
    );
    text
}

#[test]
fn accesses_of_all_sizes_depend_on_each_other_exactly_if_they_overlap() {
    let home = Home::new();
    let all: Vec<Program> = (0..programs(12)).map(generate).collect();
    let text = source(&all);
    let plain = compiled_text(&home, "plain", &text, &["-O1"]);
    let instrumented = compiled_text(&home, "instrumented", &text, &["-O1", "-fsanitize=thread"]);
    let mut wrong = Vec::new();
    for (number, program) in all.iter().enumerate() {
        let expected = All::of(program);
        for binary in [&instrumented, &plain] {
            let args =
                ["explore", "--json", "--keep-going", "--strategy", "dpor", "--workers", "1"];
            let number = number.to_string();
            let rest = ["--max-executions", "0", "--", binary, &number];
            let report = home.heddle(args.iter().chain(&rest)).report();
            let seen = found(&report);
            // Each execution of the search fails with its outcome.
            let failing: u64 = report.bugs.iter().map(|bug| bug.count).sum();
            let classes = expected.classes.len() as u64;
            let is_right = seen == expected.outcomes && report.complete;
            if !is_right || failing != report.executions || report.classes != classes {
                let kind = binary.rsplit('/').next().unwrap_or_default();
                wrong.push(format!(
                    "program {number}, {kind}: {} executions, {classes} classes, {seen:?}, and not {:?} ({}): {program:?}",
                    report.classes, expected.outcomes, report.reason
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}
