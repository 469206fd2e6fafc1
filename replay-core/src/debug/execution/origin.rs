//! Where a value came from: backwards through copies, until a constant, an input or a computation.
//!
//! The last write to the memory before a position is found by watching it from the beginning on. The
//! instructions of the task that wrote are then recorded, and followed backwards
//! ([`crate::debug::dataflow`]), over the steps of the task, to the instruction that loaded the value; the
//! memory from which it did is the next place. A function of the threads library or one that copies runs at once: what it does is known by its arguments.

use super::history::LastWrites;
use super::position::{Access, Position, StepPoint, Watch, watched_pieces};
use super::recorded::Recorded;
use super::stretch::{Code, MOST, Stretch, is_outside_call};
use super::{Execution, Reason};
use crate::Error;
use crate::debug::dataflow::{Effect, Location, State, effect};
use crate::debug::process::machine::ProcessState;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, Register};
use traces::Operation;

/// How many copies are followed at most.
const MOST_HOPS: usize = 1000;
/// How many instructions a function of a library executes at most after a write until it returns.
const MOST_TO_RETURN: usize = 4096;

/// A copy of the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hop {
    pub(crate) place: Executed,
    pub(crate) to: Location,
    pub(crate) from: Location,
}

/// An instruction in an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Executed {
    pub(crate) task: u16,
    /// The position before it.
    pub(crate) position: Position,
    /// The step in which its effect is.
    pub(crate) step: u64,
    pub(crate) address: u64,
    /// In code without lines of the program, the call that led there.
    pub(crate) call: Option<u64>,
}

/// Where a value begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Beginning {
    Constant(u64),
    /// An instruction computed it.
    Computed(String),
    /// A function returned it, or wrote it.
    Call {
        function: String,
        returned: bool,
    },
    /// A system call returned it.
    Kernel,
    /// It is in the memory from the beginning on.
    Initial,
    /// An argument of `main`, or what the system passed otherwise.
    Start,
    /// It is not known, for this reason.
    Unknown(String),
}

/// The way of a value, backwards.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) hops: Vec<Hop>,
    pub(crate) beginning: Beginning,
    pub(crate) place: Option<Executed>,
}

/// What a search for an origin has found so far.
struct Trail {
    hops: Vec<Hop>,
    code: Code,
    info: InstructionInfoFactory,
}

/// What the search within a task ended with.
enum Found {
    /// The value was loaded from memory; what was there before this position counts.
    Memory(Location, Position),
    Beginning(Beginning, Option<Executed>),
}

/// What a call outside the program did to a value.
enum Outcome {
    Nothing,
    Copied(Location),
    Beginning(Beginning),
}

impl Execution {
    /// Where a value at the current position came from: in memory, or in a register of a task's
    /// innermost function. The position stays as it is.
    pub(crate) fn origin(&mut self, what: Location, task: u16) -> Result<Origin, Error> {
        let here = self.at.clone();
        let (original, at) = self.divert()?;
        let armed = std::mem::take(&mut self.armed);
        let result = self.follow_back(what, task, here);
        self.armed = armed;
        self.collects = false;
        self.recorded_events = Recorded::default();
        self.limit = None;
        self.rejoin(original, at);
        result
    }

    fn follow_back(&mut self, what: Location, task: u16, here: Position) -> Result<Origin, Error> {
        let info = InstructionInfoFactory::new();
        let mut trail = Trail { hops: Vec::new(), code: Code::default(), info };
        let mut found = self.search_writer(&mut trail, what, task, &here)?;
        loop {
            let (beginning, place) = match found {
                Found::Memory(from, position) if trail.hops.len() < MOST_HOPS => {
                    found = self.search_writer(&mut trail, from, task, &position)?;
                    continue;
                }
                Found::Memory(..) => {
                    let why = format!("more than {MOST_HOPS} copies");
                    (Beginning::Unknown(why), None)
                }
                Found::Beginning(beginning, place) => (beginning, place),
            };
            return Ok(Origin { hops: trail.hops, beginning, place });
        }
    }

    /// What wrote a value that is in memory, or in a register of a task, before a position.
    fn search_writer(
        &mut self,
        trail: &mut Trail,
        location: Location,
        task: u16,
        before: &Position,
    ) -> Result<Found, Error> {
        let Location::Memory { address, len } = location else {
            // The task is within a step, or parked since its last one.
            let is_within = self.task_of_step(before.step) == Some(task)
                && matches!(before.place, StepPoint::Inside(_));
            let ends = u64::from(before.place == StepPoint::End);
            let step = match is_within {
                true => Some(before.step),
                false => self.previous_step_of(task, before.step + ends),
            };
            return match step {
                Some(step) => self.within_task(trail, location, step, None, before),
                None => Ok(Found::Beginning(self.beginning_of(task), None)),
            };
        };
        Ok(match self.last_write(address, len, before)? {
            Ok(Some((step, behind))) => {
                self.within_task(trail, location, step, Some(behind), before)?
            }
            Ok(None) => Found::Beginning(Beginning::Initial, None),
            Err(why) => Found::Beginning(Beginning::Unknown(why), None),
        })
    }

    /// The step of the last write to some memory before a position, and the registers behind it; none
    /// if there was no write.
    fn last_write(
        &mut self,
        address: u64,
        len: u64,
        before: &Position,
    ) -> Result<Result<Option<(u64, State)>, String>, Error> {
        let Some(watches) = watched_pieces(address, len, Access::Write) else {
            let why = format!("{len} bytes at {address:#x} cannot be watched at once");
            return Ok(Err(why));
        };
        self.armed.watches = watches.clone();
        self.collects = true;
        let found = self.last_writes(before, 1)?;
        self.armed.watches.clear();
        self.collects = false;
        let Some(LastWrites { before: first, writes, after: now, .. }) = found else {
            return Ok(Err("interrupted".to_owned()));
        };
        // Not every write by the kernel is observed.
        let last = |at: usize, watch: &Watch| {
            writes.iter().rev().find(|it| it.watch == *watch).map_or(first[at], |it| it.value)
        };
        if watches.iter().enumerate().any(|(at, watch)| last(at, watch) != now[at]) {
            return Ok(Err(format!("a system call changed the memory at {address:#x}")));
        }
        let Some(last) = writes.last() else { return Ok(Ok(None)) };
        let (step, position) = (last.position.step, last.position.clone());
        let stop = self.go_to(&position)?;
        if stop.reason != Reason::Done || self.live.state() != ProcessState::Program {
            let why = format!("the execution ended with the write to {address:#x}");
            return Ok(Err(why));
        }
        // The write may be within a function of a library that ran at once: where it returns counts.
        for _ in 0..MOST_TO_RETURN {
            let state = self.state_now()?;
            if !self.is_system(state.rip) && !self.live.is_runtime(state.rip) {
                return Ok(Ok(Some((step, state))));
            }
            let stop = self.step_one(self.live.current(), super::OnHit::Nothing)?;
            if stop.reason != Reason::Done || self.live.state() != ProcessState::Program {
                break;
            }
        }
        Ok(Ok(Some((step, self.state_now()?))))
    }

    /// Follows a value backwards through the instructions of the task of a step. `behind`: the
    /// registers where the code that wrote it to memory in this step returned, or behind the instruction.
    fn within_task(
        &mut self,
        trail: &mut Trail,
        mut location: Location,
        step: u64,
        mut behind: Option<State>,
        before: &Position,
    ) -> Result<Found, Error> {
        let until = (before.step == step).then_some(before);
        let mut stretch = self.record_step(step, until)?;
        let mut later: Option<State> = None;
        let mut count = 0;
        loop {
            // What the last instruction does may belong to the step that was inspected before.
            let is_last_later = stretch.end.is_none() && later.is_none();
            let own = stretch.states.len().saturating_sub(usize::from(is_last_later));
            if stretch.is_cut {
                let why = format!("more than {MOST} instructions in step {}", stretch.step);
                return Ok(Found::Beginning(Beginning::Unknown(why), None));
            }
            // A write in the step itself is the task's last instruction before, or none of those before.
            let first = if behind.is_some() && later.is_some() { own.saturating_sub(1) } else { 0 };
            let mut at = own;
            while at > first {
                at -= 1;
                let index = at;
                let outcome = self.outcome(trail, (&stretch, at), later.as_ref(), location, behind);
                if matches!(outcome, Outcome::Nothing) {
                    continue;
                }
                // What a function of a library copied comes from its arguments, however it copies.
                let whole = self.copied_by_library(&stretch, index, location);
                let (outcome, begins) = match whole {
                    Some((from, entry)) => (Outcome::Copied(from), entry),
                    None => (outcome, index),
                };
                let is_later = index + 1 == stretch.states.len() && stretch.end.is_none();
                let effect_step = if is_later { self.next_step_of(&stretch) } else { stretch.step };
                let place = Executed {
                    task: stretch.task,
                    position: stretch.position(index),
                    step: effect_step,
                    address: stretch.states[index].rip,
                    call: self.calling(&stretch, index),
                };
                let from = match outcome {
                    Outcome::Nothing => continue,
                    Outcome::Copied(from) => from,
                    Outcome::Beginning(beginning) => {
                        return Ok(Found::Beginning(beginning, Some(place)));
                    }
                };
                if from != location {
                    trail.hops.push(Hop { place, to: location, from });
                }
                (location, behind, at) = (from, None, begins);
                if let Location::Memory { .. } = from {
                    // A read that is a separate step sees what was there when the step was chosen.
                    let position = match is_later {
                        false => stretch.position(begins),
                        true => Position::chosen(effect_step),
                    };
                    return Ok(Found::Memory(from, position));
                }
            }
            count += stretch.states.len();
            if behind.is_some() && later.is_some() {
                let why = "the instruction that wrote it was not found".to_owned();
                return Ok(Found::Beginning(Beginning::Unknown(why), None));
            }
            if count > MOST {
                let why = format!("more than {MOST} instructions since it was loaded");
                return Ok(Found::Beginning(Beginning::Unknown(why), None));
            }
            // A step in which the task executed nothing changes none of its registers.
            let first = stretch.states.first().copied().or(stretch.end);
            later = first.or(later);
            let previous = self.previous_step_of(stretch.task, stretch.step);
            stretch = match previous {
                Some(step) => self.record_step(step, None)?,
                None => match self.creation(&stretch, location) {
                    Some((creator, step, argument)) => {
                        let place = Executed {
                            task: stretch.task,
                            position: Position::entry(stretch.step),
                            step: stretch.step,
                            address: first.map_or(0, |state| state.rip),
                            call: None,
                        };
                        trail.hops.push(Hop { place, to: location, from: argument });
                        location = argument;
                        let Some(step) = self.previous_step_of(creator, step) else {
                            return Ok(Found::Beginning(Beginning::Start, None));
                        };
                        let recorded = self.record_step(step, None)?;
                        later = recorded.states.last().copied().or(later);
                        recorded
                    }
                    None => return Ok(Found::Beginning(self.beginning_of(stretch.task), None)),
                },
            };
        }
    }

    /// The program's call that led to an instruction of a system library, or of a linker's entry.
    fn calling(&self, stretch: &Stretch, index: usize) -> Option<u64> {
        let has_line = |address: u64| {
            let site = self.symbols.site(address)?;
            let frame = self.symbols.frames(site, true).into_iter().next()?;
            (frame.line > 0 && !self.is_system(address)).then_some(address)
        };
        if has_line(stretch.states[index].rip).is_some() {
            return None;
        }
        stretch.states[..index].iter().rev().find_map(|state| has_line(state.rip))
    }

    /// What an instruction did to a value. `later`: the registers at the beginning of the task's next step.
    fn outcome(
        &self,
        trail: &mut Trail,
        (stretch, index): (&Stretch, usize),
        later: Option<&State>,
        location: Location,
        behind: Option<State>,
    ) -> Outcome {
        let state = stretch.states[index];
        let Some(after) = stretch.after(index, later) else { return Outcome::Nothing };
        let one = trail.code.at(state.rip, self);
        if is_outside_call(&one, &state, &after) {
            let writes = behind.is_some_and(|behind| behind.is_at(&after));
            return self.outside_call(&one, &state, location, writes);
        }
        if one.mnemonic() == Mnemonic::Syscall {
            return after_system_call(location);
        }
        Outcome::Beginning(match effect(&mut trail.info, &one, (&state, &after), location) {
            Effect::None => return Outcome::Nothing,
            Effect::Copied(from) => return Outcome::Copied(from),
            Effect::Constant(value) => Beginning::Constant(value),
            Effect::Computed => Beginning::Computed(format!("{:?}", one.mnemonic()).to_lowercase()),
            Effect::Partly => {
                Beginning::Unknown("its bytes were written one after the other".to_owned())
            }
        })
    }

    /// Where memory that was written within a copying function of a system library comes from, and the function's
    /// first instruction.
    fn copied_by_library(
        &self,
        stretch: &Stretch,
        index: usize,
        location: Location,
    ) -> Option<(Location, usize)> {
        if !matches!(location, Location::Memory { .. })
            || !self.is_system(stretch.states[index].rip)
        {
            return None;
        }
        let outside = stretch.states[..index].iter().rposition(|it| !self.is_system(it.rip))?;
        let entry = stretch.states.get(outside + 1)?;
        let name = self.symbols.start_function(entry.rip)?;
        // The implementations for several processors have their own names.
        let plain = name.trim_start_matches('_').split('_').next().unwrap_or_default();
        Some((copied(plain, entry, location)?, outside + 1))
    }

    /// The step of a task before a step.
    fn previous_step_of(&self, task: u16, step: u64) -> Option<u64> {
        (0..step).rev().find(|&earlier| self.task_of_step(earlier) == Some(task))
    }

    fn next_step_of(&self, stretch: &Stretch) -> u64 {
        let last = self.trace.execution.steps.len() as u64;
        let mut later = stretch.step + 1..=last;
        later.find(|&step| self.task_of_step(step) == Some(stretch.task)).unwrap_or(last)
    }

    /// Where the argument of a thread's function comes from: the task that created it, the step, and the place of
    /// the argument in the call of `pthread_create`.
    fn creation(&self, stretch: &Stretch, location: Location) -> Option<(u16, u64, Location)> {
        let Location::Register { register: Register::RDI, offset, len } = location else {
            return None;
        };
        let execution = &self.trace.execution;
        let parent = execution.tasks.get(usize::from(stretch.task))?.parent?;
        let creations = execution.steps.iter().enumerate();
        let mut creations = creations.filter(|(_, step)| step.operation == Operation::Create);
        let (index, step) = creations.nth(usize::from(stretch.task).checked_sub(1)?)?;
        let argument = Location::Register { register: Register::RCX, offset, len };
        (step.task == parent).then_some((parent.0, index as u64 + 1, argument))
    }

    fn beginning_of(&self, task: u16) -> Beginning {
        match task {
            0 => Beginning::Start,
            _ => Beginning::Unknown("the task began with it in a register".to_owned()),
        }
    }

    /// What a function outside the program's code did, which ran at once. `writes`: it made the write that is
    /// searched for.
    fn outside_call(
        &self,
        one: &Instruction,
        state: &State,
        location: Location,
        writes: bool,
    ) -> Outcome {
        let function = self.called_function(one, state);
        let name = function.as_deref().unwrap_or("a function of a library");
        let returned =
            |returned| Outcome::Beginning(Beginning::Call { function: name.to_owned(), returned });
        match location {
            Location::Register { register, .. } if is_preserved(register) => Outcome::Nothing,
            Location::Register {
                register: Register::RAX | Register::RDX | Register::ZMM0, ..
            } => returned(true),
            Location::Register { .. } => Outcome::Beginning(Beginning::Unknown(format!(
                "the call of `{name}` may have changed the register"
            ))),
            Location::Memory { .. } => {
                let plain = name.trim_start_matches("__").trim_end_matches("_chk");
                // A string's copy is as long as the string is: only what was written here counts.
                if let Some(from) = copied(plain, state, location)
                    && (plain.starts_with("mem") || writes)
                {
                    return Outcome::Copied(from);
                }
                if writes { returned(false) } else { Outcome::Nothing }
            }
        }
    }

    /// The name of the function that a call, or a jump of a linker's entry, leads to.
    fn called_function(&self, one: &Instruction, state: &State) -> Option<String> {
        let entry = |address: u64| {
            let mut bytes = [0; 8];
            (self.live.read(address, &mut bytes) == 8).then(|| u64::from_le_bytes(bytes))
        };
        let target = match one.flow_control() {
            FlowControl::Call | FlowControl::UnconditionalBranch => one.near_branch_target(),
            _ if one.is_ip_rel_memory_operand() => entry(one.ip_rel_memory_address())?,
            _ => state.value(one.op0_register()),
        };
        // A linker's entry jumps through a word.
        let mut code = [0; 16];
        let len = self.live.read(target, &mut code);
        let mut decoder =
            iced_x86::Decoder::with_ip(64, &code[..len], target, iced_x86::DecoderOptions::NONE);
        let jump =
            decoder.iter().take(2).find(|it| it.flow_control() == FlowControl::IndirectBranch);
        let target = match jump {
            Some(jump) if jump.is_ip_rel_memory_operand() => entry(jump.ip_rel_memory_address())?,
            _ => target,
        };
        self.symbols.start_function(target)
    }
}

/// Where a function that copies, with these arguments, takes some of what it writes from.
fn copied(function: &str, arguments: &State, location: Location) -> Option<Location> {
    let Location::Memory { address, len } = location else { return None };
    let [to, from, size] =
        [Register::RDI, Register::RSI, Register::RDX].map(|it| arguments.value(it));
    let size = match function {
        "memcpy" | "memmove" | "mempcpy" | "memset" => size,
        "strcpy" | "stpcpy" => u64::MAX - to,
        _ => 0,
    };
    let offset = address.checked_sub(to)?;
    if offset >= size || size - offset < len {
        return None;
    }
    Some(match function {
        // Each byte is the argument's lowest.
        "memset" => Location::Register { register: Register::RSI, offset: 0, len: 1 },
        _ => Location::Memory { address: from.wrapping_add(offset), len },
    })
}

/// Whether functions preserve a register.
fn is_preserved(register: Register) -> bool {
    use Register as R;
    matches!(register, R::RBX | R::RBP | R::RSP | R::R12 | R::R13 | R::R14 | R::R15)
}

/// What a system call did to a register. What it writes to memory is found by comparing.
fn after_system_call(location: Location) -> Outcome {
    match location {
        Location::Register { register: Register::RAX, .. } => Outcome::Beginning(Beginning::Kernel),
        Location::Register { register: Register::RCX | Register::R11, .. } => {
            let why = "a system call changed the register".to_owned();
            Outcome::Beginning(Beginning::Unknown(why))
        }
        _ => Outcome::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_call_changes_three_registers() {
        let after = |register| match after_system_call(Location::Register {
            register,
            offset: 0,
            len: 8,
        }) {
            Outcome::Beginning(beginning) => Some(beginning),
            _ => None,
        };
        assert_eq!(after(Register::RAX), Some(Beginning::Kernel));
        let changed = Beginning::Unknown("a system call changed the register".to_owned());
        assert_eq!(after(Register::RCX), Some(changed.clone()));
        assert_eq!(after(Register::R11), Some(changed));
        assert_eq!(after(Register::RBX), None);
    }
}
