//! The hits of breakpoints and watchpoints on generated racy programs, as a debugger's client sees
//! them, and as the trace and the program's text imply them.

use crate::debugging::compiled_text;
use crate::heddle::Home;
use crate::rsp::{Client, Server};
use std::fmt::Write;
use std::process::Command;
use traces::{Operation, Trace};

/// The number of variables that a program's threads share.
pub const VARIABLES: usize = 3;
/// The number of functions that they call.
pub const FUNCTIONS: usize = 3;

/// A source of numbers, the same for the same seed.
#[derive(Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// The numbers of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number below this one.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// A program whose threads call functions that read and write shared variables without locks. It
/// always fails, so that its first schedule is recorded.
#[derive(Debug)]
pub struct Racy {
    /// The source.
    pub text: String,
    /// The functions that each thread calls, in order.
    pub calls: Vec<Vec<usize>>,
}

/// Generates a program.
#[must_use]
pub fn racy(numbers: &mut Numbers) -> Racy {
    let mut text = String::from("#include <pthread.h>\n");
    for variable in 0..VARIABLES {
        // Apart, so that no instruction writes two of them.
        let _ = writeln!(text, "long v{variable} __attribute__((aligned(64)));");
    }
    // Each variable is in conflict, so that each access to it is a step.
    text.push_str("__attribute__((noipa)) void all(void) { v0++; v1++; v2++; }\n");
    // `noipa`: equal functions stay two.
    for function in 0..FUNCTIONS {
        let _ = write!(text, "__attribute__((noipa)) void f{function}(void) {{");
        for _ in 0..=numbers.below(2) {
            let (to, from) = (numbers.below(3), numbers.below(3));
            let _ = match numbers.below(4) {
                0 => write!(text, " v{to}++;"),
                1 => write!(text, " v{to} += {};", 2 + numbers.below(5)),
                2 => write!(text, " v{to} = v{from} + {};", 1 + numbers.below(9)),
                _ => write!(text, " if (v{from} & 1) v{to} = {};", numbers.below(9)),
            };
        }
        text.push_str(" }\n");
    }
    let threads = 2 + numbers.below(2) as usize;
    let mut calls = Vec::new();
    for thread in 0..threads {
        let list: Vec<usize> =
            (0..2 + numbers.below(3)).map(|_| numbers.below(FUNCTIONS as u64) as usize).collect();
        let _ = write!(text, "static void *t{thread}(void *x) {{ all();");
        for function in &list {
            let _ = write!(text, " f{function}();");
        }
        text.push_str(" return x; }\n");
        calls.push(list);
    }
    let _ = write!(text, "int main(void) {{ pthread_t t[{threads}];");
    for thread in 0..threads {
        let _ = write!(text, " pthread_create(&t[{thread}], 0, t{thread}, 0);");
    }
    let _ = write!(text, " for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0);");
    text.push_str(" return 7; }\n");
    Racy { text, calls }
}

/// A recorded schedule of such a program, with what its symbols say.
#[derive(Debug)]
pub struct Recorded {
    /// The trace's file.
    pub file: String,
    /// The trace.
    pub trace: Trace,
    symbols: Symbols,
}

/// The addresses of a program's variables and of its functions' first instructions in its image.
#[derive(Debug)]
pub struct Symbols(Vec<(String, u64)>);

impl Symbols {
    /// Those of a program.
    ///
    /// # Panics
    /// If they cannot be listed.
    #[must_use]
    pub fn of(program: &str) -> Symbols {
        let listed = Command::new("nm").arg(program).output().expect("nm runs");
        let listed = String::from_utf8(listed.stdout).expect("names");
        let symbols = listed.lines().filter_map(|line| {
            let [address, _, name] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
            Some((name.to_owned(), u64::from_str_radix(address, 16).ok()?))
        });
        Symbols(symbols.collect())
    }

    /// The address of a symbol in a process whose main thread is at the first instruction of main.
    ///
    /// # Panics
    /// If there is none.
    pub fn address(&self, client: &mut Client, name: &str) -> u64 {
        let of = |name: &str| self.0.iter().find(|(known, _)| known == name);
        let (_, offset) = of(name).unwrap_or_else(|| panic!("no symbol {name}"));
        let (_, main) = of("main").expect("a main function");
        client.ask("Hgp1.1");
        offset + (word(&client.ask("p10")) - main)
    }
}

/// Records a schedule of a program at random.
///
/// # Panics
/// If it does not compile, or is not recorded.
#[must_use]
pub fn recorded(home: &Home, program: &Racy, level: &str, seed: u64) -> Recorded {
    let path = compiled_text(home, "racy", &program.text, &[level]);
    let seed = seed.to_string();
    // Otherwise only accesses at sites where a conflict was found are steps of the trace.
    let words = [
        "explore",
        "--points",
        "all",
        "--strategy",
        "random",
        "--seed",
        &seed,
        "--json",
        "--",
        &path,
    ];
    let file = home.heddle(words).report().bugs[0].trace.clone().expect("a trace");
    let bytes = std::fs::read(home.path().join(&file)).expect("a file");
    let trace = traces::file::decode(&bytes).expect("a trace").trace;
    Recorded { file, trace, symbols: Symbols::of(&path) }
}

impl Recorded {
    /// The address of a symbol in the process.
    ///
    /// # Panics
    /// If there is none.
    pub fn address(&self, client: &mut Client, name: &str) -> u64 {
        self.symbols.address(client, name)
    }

    /// The writes to a variable that the trace implies: task (from 1, as the protocol counts) and
    /// the value afterwards.
    #[must_use]
    pub fn writes(&self, variable: &str) -> Vec<(u64, u64)> {
        let execution = &self.trace.execution;
        let is_it = |object: Option<u32>| {
            object.is_some_and(|object| execution.objects[object as usize].name == variable)
        };
        let steps = execution.steps.iter();
        let writes = steps.filter(|it| it.operation == Operation::Write && is_it(it.object));
        writes.map(|step| (u64::from(step.task.0) + 1, step.value)).collect()
    }
}

/// A word in the protocol's order of bytes.
///
/// # Panics
/// If it is none.
#[must_use]
pub fn word(digits: &str) -> u64 {
    u64::from_str_radix(digits, 16).unwrap_or_else(|_| panic!("no word: {digits}")).swap_bytes()
}

/// A stop at a breakpoint or at watched memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The thread, from 1.
    pub thread: u64,
    /// The breakpoint's or the variable's address.
    pub at: u64,
    /// Of watched memory: the value at the stop.
    pub value: Option<u64>,
}

/// A client that resumes the program as gdb does: it steps a thread alone over the breakpoint at
/// which it is, while that breakpoint is removed.
#[derive(Debug)]
pub struct Debugger {
    client: Client,
    breakpoints: Vec<u64>,
    watches: Vec<u64>,
}

impl Debugger {
    /// Connects.
    #[must_use]
    pub fn new(server: &Server) -> Debugger {
        Debugger { client: server.connect(), breakpoints: Vec::new(), watches: Vec::new() }
    }

    /// The connection.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Sets breakpoints and watches words.
    ///
    /// # Panics
    /// If they are refused.
    pub fn set(&mut self, breakpoints: &[u64], watches: &[u64]) {
        for at in breakpoints {
            assert_eq!(self.client.ask(&format!("Z0,{at:x},1")), "OK");
        }
        for at in watches {
            assert_eq!(self.client.ask(&format!("Z2,{at:x},8")), "OK");
        }
        self.breakpoints = breakpoints.to_vec();
        self.watches = watches.to_vec();
    }

    /// Goes to a position.
    ///
    /// # Panics
    /// If that fails.
    pub fn goto(&mut self, position: &str) {
        let said = self.client.monitor(&format!("now goto {position}"));
        assert!(!said.contains("cannot"), "{said}");
    }

    /// The position.
    pub fn position(&mut self) -> String {
        self.client.monitor("position").trim().to_owned()
    }

    /// A word of memory.
    pub fn value(&mut self, at: u64) -> u64 {
        word(&self.client.ask(&format!("m{at:x},8")))
    }

    fn thread(&mut self, stop: &str) -> u64 {
        let thread = stop.split("thread:p").nth(1).and_then(|rest| rest.split(';').next());
        let thread = thread.and_then(|thread| thread.split('.').nth(1));
        let thread = thread.unwrap_or_else(|| panic!("no thread in {stop}"));
        u64::from_str_radix(thread, 16).expect("a number")
    }

    fn hit(&mut self, stop: &str) -> Option<Hit> {
        if stop.contains("replaylog") || stop.starts_with(['W', 'X']) {
            return None;
        }
        let thread = self.thread(stop);
        if let Some(rest) = stop.split("watch:").nth(1) {
            let digits = rest.split(';').next().unwrap_or_default();
            let at = u64::from_str_radix(digits, 16).expect("an address");
            assert!(self.watches.contains(&at), "not watched: {stop}");
            return Some(Hit { thread, at, value: Some(self.value(at)) });
        }
        let at = self.pc(thread);
        assert!(stop.contains("swbreak"), "neither: {stop}");
        assert!(self.breakpoints.contains(&at), "no breakpoint at {at:x}: {stop}");
        Some(Hit { thread, at, value: None })
    }

    /// A thread's next instruction.
    pub fn pc(&mut self, thread: u64) -> u64 {
        self.client.ask(&format!("Hgp1.{thread:x}"));
        word(&self.client.ask("p10"))
    }

    /// Continues to the next hit; none at the end.
    pub fn forwards(&mut self, last: Option<&Hit>) -> Option<Hit> {
        if let Some(thread) = last.map(|hit| hit.thread) {
            let here = self.pc(thread);
            if self.breakpoints.contains(&here) {
                self.client.ask(&format!("z0,{here:x},1"));
                let stop = self.client.ask(&format!("vCont;s:p1.{thread:x}"));
                // gdb ends with an internal error if another thread stops here.
                assert!(
                    stop.starts_with(['W', 'X']) || self.thread(&stop) == thread,
                    "T{thread} was stepped alone: {stop}"
                );
                self.client.ask(&format!("Z0,{here:x},1"));
                if !stop.starts_with("T05") || stop.contains("watch:") {
                    return self.hit(&stop);
                }
                let there = self.pc(thread);
                assert_ne!(there, here, "T{thread} did not leave its breakpoint: {stop}");
                if self.breakpoints.contains(&there) {
                    return Some(Hit { thread, at: there, value: None });
                }
            }
        }
        let stop = self.client.ask("vCont;c:p1.-1");
        self.hit(&stop)
    }

    /// Goes back to the hit before; none at the beginning.
    pub fn backwards(&mut self) -> Option<Hit> {
        let stop = self.client.ask("bc");
        self.hit(&stop)
    }

    /// All hits from here to the end, with their positions.
    pub fn to_end(&mut self) -> Vec<(Hit, String)> {
        let mut hits: Vec<(Hit, String)> = Vec::new();
        while let Some(hit) = self.forwards(hits.last().map(|(hit, _)| hit)) {
            let position = self.position();
            hits.push((hit, position));
            assert!(hits.len() < 1000, "the hits do not end: {hits:?}");
        }
        hits
    }

    /// All hits from here to the beginning, the last first.
    pub fn to_beginning(&mut self) -> Vec<Hit> {
        let mut hits = Vec::new();
        while let Some(hit) = self.backwards() {
            hits.push(hit);
            assert!(hits.len() < 1000, "the hits do not end: {hits:?}");
        }
        hits
    }
}
