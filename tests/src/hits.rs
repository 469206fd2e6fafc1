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

/// Where a program has its shared variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Each is a static variable.
    Globals,
    /// They are the fields of a static structure.
    Fields,
    /// They are in a block of the heap.
    Heap,
}

impl Storage {
    /// The declarations, and what `main` does first.
    fn texts(self) -> (String, &'static str) {
        // Apart, so that no instruction writes two of them.
        let aligned = "__attribute__((aligned(64)))";
        let fields = (0..VARIABLES).map(|it| format!(" long w{it} {aligned};"));
        let fields: String = fields.collect();
        let names = |prefix: &str| {
            (0..VARIABLES).map(|it| format!("#define v{it} {prefix}w{it}\n")).collect::<String>()
        };
        let of_pointer = format!("struct all {{{fields} }};\nstruct all *p;\n{}", names("p->"));
        match self {
            Storage::Globals => {
                ((0..VARIABLES).map(|it| format!("long v{it} {aligned};\n")).collect(), "")
            }
            Storage::Fields => (format!("struct all {{{fields} }} s;\n{}", names("s.")), ""),
            Storage::Heap => (
                format!("#include <stdlib.h>\n{of_pointer}"),
                " p = aligned_alloc(64, sizeof *p); v0 = v1 = v2 = 0;",
            ),
        }
    }

    /// Whether the variables are there from the beginning on.
    #[must_use]
    pub fn is_static(self) -> bool {
        matches!(self, Storage::Globals | Storage::Fields)
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
    /// Where its variables are.
    pub storage: Storage,
}

/// Generates a program.
#[must_use]
pub fn racy(numbers: &mut Numbers) -> Racy {
    let storages = [Storage::Globals, Storage::Fields, Storage::Heap];
    let storage = storages[numbers.below(3) as usize];
    let (declarations, first) = storage.texts();
    let mut text = format!("#include <pthread.h>\n{declarations}");
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
    let _ = write!(text, "int main(void) {{ pthread_t t[{threads}];{first}");
    for thread in 0..threads {
        let _ = write!(text, " pthread_create(&t[{thread}], 0, t{thread}, 0);");
    }
    let _ = write!(text, " for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0);");
    text.push_str(" return 7; }\n");
    Racy { text, calls, storage }
}

/// A recorded schedule of such a program, with what its symbols say.
#[derive(Debug)]
pub struct Recorded {
    /// The trace's file.
    pub file: String,
    /// The trace.
    pub trace: Trace,
    /// Where its variables are.
    storage: Storage,
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
    let run = home.heddle(words);
    let bugs = run.report().bugs;
    let bug = bugs.first().unwrap_or_else(|| panic!("no failure of\n{}: {run:?}", program.text));
    let file = bug.trace.clone().expect("a trace");
    let bytes = std::fs::read(home.path().join(&file)).expect("a file");
    let trace = traces::file::decode(&bytes).expect("a trace").trace;
    Recorded { file, trace, storage: program.storage, symbols: Symbols::of(&path) }
}

impl Recorded {
    /// The address of a symbol in the process.
    ///
    /// # Panics
    /// If there is none.
    pub fn address(&self, client: &mut Client, name: &str) -> u64 {
        self.symbols.address(client, name)
    }

    /// The addresses of variables in the process, which is at the beginning.
    ///
    /// # Panics
    /// If an address is not known.
    pub fn variables(&self, client: &mut Client, variables: &[usize]) -> Vec<u64> {
        let first = match self.storage {
            Storage::Globals => {
                let names = variables.iter().map(|it| format!("v{it}"));
                return names.map(|name| self.address(client, &name)).collect();
            }
            Storage::Fields => self.address(client, "s"),
            Storage::Heap => {
                let pointer = self.address(client, "p");
                client.monitor(&format!("now goto {}", self.first_position()));
                word(&client.ask(&format!("m{pointer:x},8")))
            }
        };
        variables.iter().map(|&it| first + 64 * it as u64).collect()
    }

    /// The first position where the variables exist and no thread has accessed one.
    #[must_use]
    pub fn first_position(&self) -> String {
        let steps = &self.trace.execution.steps;
        let created = steps.iter().position(|step| step.operation == Operation::Create);
        match (self.storage.is_static(), created) {
            (false, Some(step)) => (step + 1).to_string(),
            _ => "start".to_owned(),
        }
    }

    /// The writes to a variable that the trace implies: task (from 1, as the protocol counts) and
    /// the value afterwards.
    #[must_use]
    pub fn writes(&self, variable: usize) -> Vec<(u64, u64)> {
        let execution = &self.trace.execution;
        let name = match self.storage {
            Storage::Globals => format!("v{variable}"),
            _ => format!("w{variable}"),
        };
        let is_it = |object: Option<u32>| {
            object.is_some_and(|object| execution.objects[object as usize].name.ends_with(&name))
        };
        let begin = execution.steps.iter().position(|step| step.operation == Operation::Create);
        let steps = execution.steps.iter().skip(begin.unwrap_or(0));
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

/// How breakpoints and watchpoints are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds {
    /// Breakpoints for which the client asks for the processor's registers.
    pub hardware: bool,
}

/// A client that resumes the program as gdb does: it steps a thread alone over the breakpoint at
/// which it is, while that breakpoint is removed.
#[derive(Debug)]
pub struct Debugger {
    client: Client,
    breakpoints: Vec<u64>,
    watches: Vec<u64>,
    kinds: Kinds,
}

impl Debugger {
    /// Connects.
    #[must_use]
    pub fn new(server: &Server) -> Debugger {
        let (breakpoints, watches, kinds) = (Vec::new(), Vec::new(), Kinds::default());
        Debugger { client: server.connect(), breakpoints, watches, kinds }
    }

    /// The connection.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Sets breakpoints and watches words.
    ///
    /// # Panics
    /// If they are refused.
    pub fn set(&mut self, breakpoints: &[u64], watches: &[u64], kinds: Kinds) {
        self.kinds = kinds;
        for &at in breakpoints {
            self.breakpoint('Z', at);
        }
        for at in watches {
            assert_eq!(self.client.ask(&format!("Z2,{at:x},8")), "OK");
        }
        self.breakpoints = breakpoints.to_vec();
        self.watches = watches.to_vec();
    }

    /// Sets (`Z`) or removes (`z`) a breakpoint.
    fn breakpoint(&mut self, packet: char, at: u64) {
        let kind = u8::from(self.kinds.hardware);
        assert_eq!(self.client.ask(&format!("{packet}{kind},{at:x},1")), "OK");
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
        // The server has one way for both kinds.
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
                self.breakpoint('z', here);
                let stop = self.client.ask(&format!("vCont;s:p1.{thread:x}"));
                // gdb ends with an internal error if another thread stops here.
                assert!(
                    stop.starts_with(['W', 'X']) || self.thread(&stop) == thread,
                    "T{thread} was stepped alone: {stop}"
                );
                self.breakpoint('Z', here);
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

    /// Hits from here backwards, the last first, and at most so many.
    pub fn to_beginning(&mut self, most: usize) -> Vec<Hit> {
        let mut hits = Vec::new();
        while hits.len() < most
            && let Some(hit) = self.backwards()
        {
            hits.push(hit);
        }
        hits
    }
}
