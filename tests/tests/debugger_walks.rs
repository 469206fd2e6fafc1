//! Random walks, forwards and backwards: a position always has the same state, and forward commands
//! undo backward commands. `HEDDLE_WALKS` sets the number of walks, `HEDDLE_WALKS_SEED` the seed.

use search::rng::Rng;
use std::collections::HashMap;
use tests::debugging::{address, compiled_text, failing_with};
use tests::heddle::Home;
use tests::rsp::{Client, Server};

/// Commands in a walk.
const LENGTH: u32 = 100;
/// The size of `all` in the program.
const DATA: u64 = 192;

/// The state that all walks of a session share.
struct Ground {
    server: Server,
    /// The address of the compared part of the program's data.
    data: u64,
    tasks: u32,
    steps: u32,
    /// Each visited position: its state, and the commands that led to it.
    seen: HashMap<String, (String, String)>,
    met_again: u32,
    undone: u32,
}

/// One walk.
struct Walk<'a> {
    ground: &'a mut Ground,
    client: Client,
    rng: Rng,
    /// The commands so far.
    way: String,
    /// Addresses of executed instructions.
    passed: Vec<u64>,
    stop: String,
}

/// The value of a register, by its number, from the registers sent to the debugger.
fn register(registers: &str, number: usize) -> Option<u64> {
    let digits = registers.get(16 * number..16 * (number + 1))?;
    u64::from_str_radix(digits, 16).ok().map(u64::swap_bytes)
}

/// Asserts that two states are equal, and reports the difference.
#[track_caller]
fn same(before: &str, after: &str, way: &str) {
    // The position of a task that is about to begin differs for a client that steps only this task:
    // its registers are unknown.
    let known = !before.contains('x');
    let parts = ["registers", "stack", "data"].into_iter();
    let both = parts.zip(before.split(' ')).zip(after.split(' '));
    for ((what, before), after) in both.filter(|((what, _), _)| known || *what == "data") {
        let differs = before.bytes().zip(after.bytes()).position(|(a, b)| a != b);
        let at = differs.unwrap_or(0) & !15;
        let part = |text: &str| text.get(at..at + 16).unwrap_or_default().to_owned();
        let (was, is) = (part(before), part(after));
        assert!(before == after, "{what} at byte {}: {was} {is}: {way}", at / 2);
    }
}

impl Walk<'_> {
    fn ask(&mut self, command: &str) -> String {
        self.way.push_str(command);
        self.way.push(' ');
        self.client.ask(command)
    }

    fn accepted(&mut self, command: &str) {
        assert_eq!(self.ask(command), "OK", "{}", self.way);
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.rng.below(bound)
    }

    /// The registers and the stack of the thread that stopped, and the program's data.
    fn state(&mut self) -> String {
        let registers = self.client.ask("g");
        // The registers of a task that has not begun are unknown.
        let rsp = register(&registers, 7).unwrap_or(0);
        let stack = self.client.ask(&format!("m{rsp:x},400"));
        let data = self.client.ask(&format!("m{:x},{DATA:x}", self.ground.data));
        format!("{registers} {stack} {data}")
    }

    /// Executes a command, and compares the state with the one of an earlier visit. False if the
    /// program ended.
    fn goes(&mut self, command: &str) -> bool {
        self.stop = self.ask(command);
        let stop = &self.stop;
        assert!(stop.starts_with(['T', 'W', 'X']), "{stop}: {}", self.way);
        if !stop.starts_with('T') {
            self.ask("vRun;");
            self.stop = String::new();
            return false;
        }
        let task = self.client.monitor("task");
        let position = format!("{} T{}", self.client.monitor("position").trim(), task.trim());
        let state = self.state();
        self.way.push_str(&format!("({position}) "));
        if let Some(rip) = register(&state, 16)
            && self.passed.len() < 64
        {
            self.passed.push(rip);
        }
        let way = self.way.clone();
        let ground = &mut *self.ground;
        match ground.seen.get(&position) {
            Some((before, other)) => {
                same(before, &state, &format!("{position}: {way}\nand {other}"));
                ground.met_again += 1;
            }
            None => drop(ground.seen.insert(position, (state, way))),
        }
        true
    }

    fn thread(&mut self) -> String {
        format!("p1.{}", 1 + self.rng.below(self.ground.tasks))
    }

    /// A breakpoint at an executed instruction, perhaps with a condition on a register.
    fn breakpoint(&mut self) -> Option<String> {
        let at = *self.passed.get(self.rng.below(self.passed.len().max(1) as u32) as usize)?;
        let (name, mask) = (self.below(16), [1, 7, 63][self.below(3) as usize]);
        let wanted = self.below(mask + 1);
        // Whether the masked register equals this value.
        let condition = format!(";Xa,2600{name:02x}22{mask:02x}0f22{wanted:02x}1327");
        let condition = if self.below(3) == 0 { String::new() } else { condition };
        Some(format!("0,{at:x},1{condition}"))
    }

    fn watchpoint(&mut self) -> String {
        let near = self.rng.below(DATA as u32 / 8);
        let at = self.ground.data + 8 * u64::from(near);
        let (kind, short) = ([2, 2, 4][self.below(3) as usize], self.below(2) == 0);
        let len = if short || !at.is_multiple_of(8) { 4 } else { 8 };
        format!("{kind},{at:x},{len}")
    }

    /// Calls `then` while these breakpoints are set.
    fn with(&mut self, spots: &[String], then: impl FnOnce(&mut Self)) {
        for spot in spots {
            self.accepted(&format!("Z{spot}"));
        }
        then(self);
        for spot in spots {
            let bare = spot.split(';').next().unwrap_or_default();
            self.accepted(&format!("z{bare}"));
        }
    }

    fn spots(&mut self) -> Vec<String> {
        let mut spots: Vec<String> = (0..self.below(3)).filter_map(|_| self.breakpoint()).collect();
        spots.dedup_by(|a, b| a.split(';').next() == b.split(';').next());
        if self.below(2) == 0 {
            spots.push(self.watchpoint());
        }
        spots
    }

    /// One instruction backwards, and one forwards.
    fn there_and_back(&mut self) {
        let task = self.client.monitor("task").trim().parse::<u32>().expect("a task");
        let before = self.state();
        // At the choice of a step the task is parked. Other tasks have run since it reached the
        // instruction, so the way back and forth leads to another state of memory.
        let is_inside = self.client.monitor("position").contains('.');
        let known = is_inside && !before.split(' ').next().unwrap_or_default().contains('x');
        if !self.goes("bs") || !self.stop.starts_with("T05") || self.stop.contains("replaylog") {
            return;
        }
        if self.goes(&format!("vCont;s:p1.{:x}", task + 1)) && known && self.stop.starts_with("T05")
        {
            same(&before, &self.state(), &self.way);
            self.ground.undone += 1;
        }
    }

    /// Runs to the next hit, back to the previous one, and forwards again.
    fn last_and_next(&mut self) {
        let spots: Vec<String> = self.breakpoint().into_iter().collect();
        self.with(&spots, |walk| {
            let hits = |walk: &Walk<'_>| walk.stop.contains("swbreak");
            if !walk.goes("vCont;c") || !hits(walk) {
                return;
            }
            let before = walk.state();
            if !walk.goes("bc") || !hits(walk) {
                return;
            }
            // Signals stop a run forwards, not backwards.
            while walk.goes("vCont;c") && !hits(walk) && !walk.stop.contains("replaylog") {}
            assert!(hits(walk), "{}: {}", walk.stop, walk.way);
            same(&before, &walk.state(), &walk.way);
            walk.ground.undone += 1;
        });
    }

    fn command(&mut self) {
        match self.below(16) {
            0 | 1 => {
                let thread = self.thread();
                self.goes(&format!("vCont;s:{thread}"));
            }
            2 | 3 => {
                let thread = self.thread();
                let rip = self.passed.last().copied().unwrap_or(0) & !15;
                let end = rip + 16 + u64::from(self.below(80));
                self.goes(&format!("vCont;r{rip:x},{end:x}:{thread}"));
            }
            4 | 5 => _ = self.goes("bs"),
            6 => {
                // Steps this thread only.
                let thread = self.thread();
                self.accepted(&format!("Hc{thread}"));
                self.goes("bs");
            }
            7 => {
                let step = 1 + self.rng.below(self.ground.steps);
                self.client.monitor(&format!("goto {step}"));
                self.way.push_str(&format!("goto {step} "));
                self.goes("vCont;s:p1.1");
            }
            8..=10 => {
                let spots = self.spots();
                self.with(&spots, |walk| _ = walk.goes("vCont;c"));
            }
            11..=13 => {
                let spots = self.spots();
                self.with(&spots, |walk| _ = walk.goes("bc"));
            }
            14 => self.there_and_back(),
            _ => self.last_and_next(),
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn walk_on(server: Server, data: u64) {
    let mut client = server.connect();
    let steps = client.monitor("schedule").split_whitespace().count() as u32;
    drop(client);
    let (seen, met_again, undone) = (HashMap::new(), 0, 0);
    let mut ground = Ground { server, data, tasks: 3, steps, seen, met_again, undone };
    let from = number("HEDDLE_WALKS_SEED").unwrap_or(0);
    for walk in from..from + number("HEDDLE_WALKS").unwrap_or(3) {
        let client = ground.server.connect();
        let (rng, way) = (Rng::new(walk, 0), format!("{walk}: "));
        let (passed, stop) = (Vec::new(), String::new());
        let mut walk = Walk { ground: &mut ground, client, rng, way, passed, stop };
        walk.ask("vRun;");
        for _ in 0..LENGTH {
            walk.command();
        }
    }
    let Ground { seen, met_again, undone, .. } = ground;
    assert!(met_again > 50, "{met_again} of {} positions were reached again", seen.len());
    assert!(undone > 0, "nothing was undone in {} places", seen.len());
}

/// A recorded schedule with preemptions.
#[test]
fn the_same_position_is_the_same_state_on_a_recorded_schedule() {
    let home = Home::new();
    let trace = failing_with(&home, "debugged", "api");
    let data = address(&home, &tests::debugging::built("debugged"), "&counter");
    walk_on(Server::start(&home, &trace, &["--at", "main", "--keep"]), data);
}

/// The program contains breakpoints of the runtime.
#[test]
fn the_same_position_is_the_same_state_with_probes() {
    let home = Home::new();
    let trace = failing_with(&home, "unguarded", "racy");
    let data = address(&home, &tests::debugging::built("unguarded"), "&counter");
    walk_on(Server::start(&home, &trace, &["--at", "main", "--keep"]), data);
}

/// Long steps with many kinds of instructions.
#[test]
fn the_same_position_is_the_same_state_within_long_steps() {
    let home = Home::new();
    let text = include_str!("debugger_walks.c");
    let program = compiled_text(&home, "walks", text, &["-O1", "-no-pie"]);
    let data = address(&home, &program, "&all");
    let server = Server::start_on(&home, &[&program], &["--at", "main", "--keep"]);
    walk_on(server, data);
}
