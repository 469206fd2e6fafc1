//! `sched origin` on generated programs: two threads take turns in copying values, and the way of each
//! value is known from what was generated.
//!
//! `HEDDLE_ORIGIN_PROGRAMS` sets the number of programs, `HEDDLE_SEED` the first seed.

use search::rng::Rng;
use std::fmt::Write;
use tests::debugging::{compiled_text, expect, gdb_on};
use tests::heddle::{Home, Run};

/// The variables of a program.
const CELLS: usize = 8;
/// The statements of a program.
const STATEMENTS: usize = 24;
/// The text before the threads' functions: its lines come first in the file.
const HEAD: &str = r#"#include <pthread.h>
#include <semaphore.h>
#include <string.h>
struct pair { long left, right; };
static volatile long cells[8];
static struct pair first, second;
static sem_t turns[2];
static void copy(volatile long *to, volatile long *from) __attribute__((noipa));
static void copy(volatile long *to, volatile long *from) {
    *to = *from;
}
__attribute__((noipa)) static long same(long value) { return value; }
__attribute__((noipa)) void last(void) { __asm__(""); }
"#;
/// The line of the assignment in `copy`.
const COPY: usize = 10;

/// Where the value of a variable came from: the lines from the last one backwards, and its beginning.
#[derive(Clone)]
struct Origin {
    lines: Vec<usize>,
    beginning: String,
}

impl Origin {
    fn through(&self, lines: &[usize]) -> Origin {
        let lines = lines.iter().chain(&self.lines).copied().collect();
        Origin { lines, beginning: self.beginning.clone() }
    }
}

/// A program and the way of each variable's value at its end.
fn generate(rng: &mut Rng) -> (String, Vec<Origin>) {
    let initial = Origin {
        lines: Vec::new(),
        beginning: "in this memory from the program's beginning on".to_owned(),
    };
    let mut ways = vec![initial; CELLS];
    let mut bodies = [String::new(), String::new()];
    // The lines of each body are known when both are complete: they are numbered within it first.
    let mut rows = Vec::new();
    for number in 0..STATEMENTS {
        let task = rng.below(2) as usize;
        let (to, from) = (rng.below(CELLS as u32) as usize, rng.below(CELLS as u32) as usize);
        let kind = rng.below(10).saturating_sub(2);
        let statement = match kind {
            0 => format!("cells[{to}] = {};", 1000 + number),
            1 => format!("cells[{to}] = cells[{from}] + 1;"),
            2 => format!("copy(&cells[{to}], &cells[{from}]);"),
            3 => format!("memcpy((void *)&cells[{to}], (void *)&cells[{from}], 8);"),
            4 => format!("cells[{to}] = same(cells[{from}]);"),
            5 => {
                format!("first.right = cells[{from}]; second = first; cells[{to}] = second.right;")
            }
            6 => format!("cells[{to}] = __atomic_load_n(&cells[{from}], __ATOMIC_SEQ_CST);"),
            _ => format!("cells[{to}] = cells[{from}];"),
        };
        rows.push((task, bodies[task].lines().count(), number, kind, to, from));
        bodies[task].push_str(&format!("    {statement}\n"));
    }
    let mut text = HEAD.to_owned();
    let mut starts = [0, 0];
    for task in 0..2 {
        // A separate line for each statement; the turns are taken on the same line.
        let _ = writeln!(text, "static void *thread{task}(void *p) {{");
        starts[task] = text.lines().count() + 1;
        let own = rows.iter().filter(|row| row.0 == task);
        for (row, statement) in own.zip(bodies[task].lines()) {
            // Who runs the statement after this one.
            let next = rows.get(row.2 + 1).map_or(task, |next| next.0);
            let _ = writeln!(
                text,
                "    sem_wait(&turns[{task}]); {} sem_post(&turns[{next}]);",
                statement.trim()
            );
        }
        text.push_str("    return p;\n}\n");
    }
    for &(task, row, number, kind, to, from) in &rows {
        let line = starts[task] + row;
        ways[to] = match kind {
            0 => Origin {
                lines: vec![line],
                beginning: format!("the constant {:#x}", 1000 + number),
            },
            1 => Origin { lines: vec![line], beginning: "computed by".to_owned() },
            2 => ways[from].through(&[COPY]),
            // A value that is copied onto itself by `memcpy` stays where it is.
            3 if to == from => ways[to].clone(),
            _ => ways[from].through(&[line]),
        };
    }
    let _ = write!(
        text,
        "int main(void) {{
    pthread_t one, other;
    sem_init(&turns[0], 0, {});
    sem_init(&turns[1], 0, {});
    pthread_create(&one, 0, thread0, 0);
    pthread_create(&other, 0, thread1, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    last();
    return 0;
}}
",
        u8::from(rows[0].0 == 0),
        u8::from(rows[0].0 == 1),
    );
    (text, ways)
}

/// The part of a session's output that answers one question.
fn answer(run: &Run, cell: usize) -> Run {
    let title = |cell: usize| format!("cells[{cell}] is ");
    let from = run.stdout.find(&title(cell));
    let from = from.unwrap_or_else(|| panic!("no answer for cells[{cell}]: {run:?}"));
    let to = run.stdout[from..].find(&title(cell + 1)).map_or(run.stdout.len(), |at| from + at);
    Run { status: run.status, stdout: run.stdout[from..to].to_owned(), stderr: run.stderr.clone() }
}

#[test]
fn the_origins_in_generated_programs_are_those_that_were_generated() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let programs = number("HEDDLE_ORIGIN_PROGRAMS").unwrap_or(4);
    let first = number("HEDDLE_SEED").unwrap_or(1);
    for seed in first..first + programs {
        let home = Home::new();
        let (text, ways) = generate(&mut Rng::new(seed, 0));
        let level = ["-O0", "-O1", "-O2", "-O3"][seed as usize % 4];
        if let Ok(directory) = std::env::var("HEDDLE_KEEP") {
            std::fs::write(format!("{directory}/copies{seed}.c"), &text).expect("written");
        }
        let binary = compiled_text(&home, "copies", &text, &[level, "-fno-builtin"]);
        let mut commands = vec!["break last".to_owned(), "continue".to_owned()];
        commands.extend((0..CELLS).map(|cell| format!("sched origin cells[{cell}]")));
        let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
        let run = gdb_on(&home, &[&binary], &commands);
        for (cell, way) in ways.iter().enumerate() {
            println!(
                "seed {seed} {level}: cells[{cell}], lines {:?}, {}",
                way.lines, way.beginning
            );
            let mut lines: Vec<String> =
                way.lines.iter().map(|line| format!("copies.c:{line} ")).collect();
            if way.beginning.contains("beginning on") {
                lines.push(way.beginning.clone());
            } else {
                let last = lines.pop().expect("the line of the beginning");
                lines.push(format!("{last}*{}", way.beginning));
            }
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            expect(&answer(&run, cell), &lines);
        }
    }
}
