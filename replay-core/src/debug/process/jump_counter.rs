//! Counts how often an instruction is executed, at full speed. A jump at the instruction leads to a
//! few instructions that decrement a counter in memory, without changing flags or stack, and
//! execute the instructions that the jump covers. They stop the process when the counter reaches
//! zero.

use super::machine::{Machine, ProcessState, StopEvent};
use super::tracee::Tracee;
use crate::Error;
use crate::symbols::Memory;
use iced_x86::{Decoder, DecoderOptions, Encoder, FlowControl, Instruction};
use std::collections::BTreeSet;
use traces::wire::{MARK_COPY, MARKS};

/// The length of a near jump.
pub(crate) const JUMP: usize = 5;
/// An indirect jump; the address follows it.
const FAR_JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
/// The offset of the code in the room near the program, after the copies of [`super::untraced`].
const CODE: u64 = (MARKS as u64 * MARK_COPY).next_multiple_of(64);
/// The offset of the counter, and of a saved register: in a page without code, because the
/// processor treats a write to a page with code as self-modification.
const NUMBER: u64 = super::room::PAGE;
const KEPT: u64 = NUMBER + 8;
/// Offsets within the code: the breakpoint that stops the process, the entry, and the moved
/// instructions.
const STOP: u64 = 7;
const ENTRY: u64 = 8;
const MOVED: usize = 42;

/// The code in the room near the program while it counts.
#[derive(Debug, PartialEq, Eq)]
struct Counter {
    /// Its address.
    place: u64,
    code: Vec<u8>,
    /// What the jump covers: the address and the number of bytes.
    head: u64,
    covered: usize,
    /// For each covered instruction: its present address and its original one.
    moved: Vec<(u64, u64)>,
}

impl Counter {
    /// None if an instruction under the jump cannot be moved.
    fn new(head: u64, code: &[u8], room: u64) -> Option<Counter> {
        let place = room + CODE;
        let mut decoder = Decoder::with_ip(64, code, head, DecoderOptions::NONE);
        let mut instructions: Vec<Instruction> = Vec::new();
        while decoder.position() < JUMP {
            let mut instruction = decoder.decode();
            match instruction.flow_control() {
                FlowControl::Next => {}
                // The condition of a loop is often next to what it counts. A branch back to `head`
                // leads to the jump there, so it is counted.
                FlowControl::ConditionalBranch if instruction.is_jcc_short_or_near() => {
                    instruction.as_near_branch();
                }
                _ => return None,
            }
            if instruction.is_invalid() {
                return None;
            }
            instructions.push(instruction);
        }
        // A repeated string instruction is reached again for each repetition.
        let repeats = |it: &Instruction| it.has_rep_prefix() || it.has_repne_prefix();
        if instructions.first().is_some_and(repeats) {
            return None;
        }
        let covered = decoder.position();
        let mut encoder = Encoder::new(64);
        let mut places = Vec::new();
        let mut now = place + MOVED as u64;
        for instruction in &instructions {
            places.push((now, instruction.ip()));
            now += encoder.encode(instruction, now).ok()? as u64;
        }
        let mut bytes: Vec<u8> = Vec::new();
        let word = |bytes: &mut Vec<u8>, code: [u8; 3], to: u64| {
            bytes.extend(code);
            let behind = place + bytes.len() as u64 + 4;
            bytes.extend((room + to).wrapping_sub(behind).to_le_bytes()[..4].iter());
        };
        const STORE_RCX: [u8; 3] = [0x48, 0x89, 0x0d];
        const LOAD_RCX: [u8; 3] = [0x48, 0x8b, 0x0d];
        word(&mut bytes, LOAD_RCX, KEPT);
        bytes.push(0xcc);
        word(&mut bytes, STORE_RCX, KEPT);
        word(&mut bytes, LOAD_RCX, NUMBER);
        bytes.extend([0x48, 0x8d, 0x49, 0xff]); // lea rcx, [rcx - 1]
        word(&mut bytes, STORE_RCX, NUMBER);
        bytes.extend([0xe3, (-35i8) as u8]); // jrcxz to the beginning
        word(&mut bytes, LOAD_RCX, KEPT);
        debug_assert_eq!(bytes.len(), MOVED);
        bytes.extend(encoder.take_buffer());
        bytes.extend(FAR_JUMP);
        bytes.extend((head + covered as u64).to_le_bytes());
        let fits = bytes.len() as u64 + CODE <= NUMBER;
        fits.then_some(Counter { place, code: bytes, head, covered, moved: places })
    }

    /// The jump to this code, if it is near enough.
    fn jump(&self) -> Option<[u8; JUMP]> {
        let distance = (self.place + ENTRY).wrapping_sub(self.head + JUMP as u64) as i64;
        let mut jump = [0xe9; JUMP];
        jump[1..].copy_from_slice(&i32::try_from(distance).ok()?.to_le_bytes());
        Some(jump)
    }

    fn contains(&self, address: u64) -> bool {
        (self.place..self.place + self.code.len() as u64).contains(&address)
    }

    /// The present address of a covered instruction, except for the first, which the jump leads to.
    fn now(&self, address: u64) -> Option<u64> {
        let found = self.moved[1..].iter().find(|(_, then)| *then == address);
        found.map(|(now, _)| *now)
    }

    fn original(&self, address: u64) -> Option<u64> {
        self.moved.iter().find(|(now, _)| *now == address).map(|(_, then)| *then)
    }
}

impl Machine {
    /// Runs until `head` is reached for the `limit`-th time or something else happens. Returns how
    /// often `head` was passed; none if it cannot be counted. `alone` says that no jump targets the
    /// instructions after `head`.
    pub(crate) fn run_counting(
        &mut self,
        head: u64,
        limit: u64,
        breakpoints: &BTreeSet<u64>,
        alone: bool,
    ) -> Result<Option<(StopEvent, u64)>, Error> {
        let room = self.room_near();
        let Some((counter, jump)) = self.counter(head, breakpoints, alone) else { return Ok(None) };
        let mut under = [0; JUMP];
        self.tracee().read(head, &mut under);
        if let Some(happened) = self.ready(breakpoints)? {
            return Ok(Some((happened, 0)));
        }
        self.take_out(head);
        let failed = || Error::system("cannot write the program's memory");
        self.tracee().write(counter.place, &counter.code).map_err(failed())?;
        self.tracee().write(room + NUMBER, &limit.to_le_bytes()).map_err(failed())?;
        self.tracee().write(head, &jump).map_err(failed())?;
        self.stand_elsewhere(|address| counter.now(address))?;
        let happened = self.go_to_count(&counter);
        if matches!(self.state(), ProcessState::Gone(_)) {
            return happened.map(|happened| Some((happened, 0)));
        }
        let left = self.tracee().word(room + NUMBER).unwrap_or(limit);
        self.tracee().write(head, &under).map_err(failed())?;
        let happened = happened?;
        let come = limit.wrapping_sub(left);
        let passed = come - u64::from(happened == StopEvent::Hit(head) && come > 0);
        Ok(Some((happened, passed)))
    }

    /// Whether [`Machine::run_counting`] can count an instruction.
    pub(crate) fn can_count(&self, head: u64, breakpoints: &BTreeSet<u64>, alone: bool) -> bool {
        self.counter(head, breakpoints, alone).is_some()
    }

    /// The code that counts an instruction, and the jump to it.
    fn counter(
        &self,
        head: u64,
        breakpoints: &BTreeSet<u64>,
        alone: bool,
    ) -> Option<(Counter, [u8; JUMP])> {
        let room = self.room_near();
        let mut code = [0; 2 * 15];
        let len = self.tracee().read(head, &mut code);
        let counter = Counter::new(head, &code[..len], room).filter(|_| room != 0)?;
        let behind = head + 1..head + counter.covered as u64;
        let jump = counter.jump()?;
        let is_crowded = breakpoints.range(behind).next().is_some()
            || counter.moved.iter().any(|(_, then)| self.behind_probe(*then).is_some())
            || counter.moved.len() > 1 && !alone;
        (!is_crowded).then_some((counter, jump))
    }

    /// If the process is at a covered instruction, moves it to the instruction's present address.
    fn stand_elsewhere(&self, place: impl Fn(u64) -> Option<u64>) -> Result<(), Error> {
        let mut registers = self.tracee().registers()?;
        if let Some(now) = place(registers.rip) {
            registers.rip = now;
            self.tracee().set_registers(&registers)?;
        }
        Ok(())
    }

    fn go_to_count(&mut self, counter: &Counter) -> Result<StopEvent, Error> {
        let mut happened = self.go_then(Tracee::run, Tracee::run)?;
        if matches!(self.state(), ProcessState::Gone(_)) {
            return Ok(happened);
        }
        let mut registers = self.tracee().registers()?;
        if happened == StopEvent::Signal(libc::SIGTRAP) && registers.rip == counter.place + STOP + 1
        {
            self.forget_signal();
            registers.rip = counter.head;
            self.tracee().set_registers(&registers)?;
            return Ok(StopEvent::Hit(counter.head));
        }
        // Wherever the process stopped in this code, move it to the original instruction.
        while counter.contains(registers.rip) {
            if counter.original(registers.rip).is_some() {
                self.stand_elsewhere(|address| counter.original(address))?;
                break;
            }
            self.tracee().step(0)?;
            registers = self.tracee().registers()?;
        }
        if let StopEvent::Hit(_) = happened {
            happened = StopEvent::Hit(registers.rip);
        }
        Ok(happened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_instructions_are_moved() {
        // mov rax, [rip + 0x1000]; add rax, 1
        let code = [0x48, 0x8b, 0x05, 0, 0x10, 0, 0, 0x48, 0x83, 0xc0, 1];
        let counter = Counter::new(0x40_0000, &code, 0x30_0000).expect("it can be moved");
        assert_eq!(counter.covered, 7);
        assert_eq!(counter.moved, [(0x30_0000 + CODE + MOVED as u64, 0x40_0000)]);
        // The moved instruction reads the same word.
        let moved = &counter.code[MOVED..];
        let mut decoder = Decoder::with_ip(64, moved, counter.moved[0].0, DecoderOptions::NONE);
        assert_eq!(decoder.decode().ip_rel_memory_address(), 0x40_1007);
        assert_eq!(decoder.decode().flow_control(), FlowControl::IndirectBranch);
        assert_eq!(counter.code[counter.code.len() - 8..], 0x40_0007u64.to_le_bytes());
        // Two short instructions; a jump whose target is elsewhere; a call.
        let short = Counter::new(0x40_0000, &[0xff, 0xc0, 0x48, 0x83, 0xc0, 1], 0x30_0000);
        assert_eq!(short.map(|it| it.moved.len()), Some(2));
        for code in [[0xeb, 0x10, 0x90, 0x90, 0x90], [0xe8, 0, 0, 0, 0]] {
            assert_eq!(Counter::new(0x40_0000, &code, 0x30_0000), None);
        }
        assert_eq!(Counter::new(0x40_0000, &[0x90], 0x30_0000), None);
        // A repeated instruction: rep movsq; nop; nop.
        let repeats = [0xf3, 0x48, 0xa5, 0x90, 0x90];
        assert_eq!(Counter::new(0x40_0000, &repeats, 0x30_0000), None);
    }

    #[test]
    fn a_branch_back_is_counted_again() {
        // dec eax; jne to the beginning; nop.
        let counter = Counter::new(0x40_0000, &[0xff, 0xc8, 0x75, 0xfc, 0x90], 0x30_0000)
            .expect("it can be moved");
        let at = counter.moved[1].0;
        let moved = &counter.code[(at - counter.place) as usize..];
        let branch = Decoder::with_ip(64, moved, at, DecoderOptions::NONE).decode();
        assert_eq!(branch.flow_control(), FlowControl::ConditionalBranch);
        // Not to the copy of the first instruction.
        assert_eq!(branch.near_branch_target(), 0x40_0000);
    }

    #[test]
    fn it_counts_down_without_flags() {
        let code = [0x48, 0x8b, 0x05, 0, 0x10, 0, 0];
        let counter = Counter::new(0x40_0000, &code, 0x30_0000).expect("it can be moved");
        let mut decoder = Decoder::with_ip(64, &counter.code, counter.place, DecoderOptions::NONE);
        let said: Vec<Instruction> =
            decoder.iter().take_while(|it| it.ip() < counter.moved[0].0).collect();
        let memory = |at: usize| said[at].ip_rel_memory_address() - 0x30_0000;
        assert_eq!((memory(0), memory(2), memory(3)), (KEPT, KEPT, NUMBER));
        assert_eq!((memory(5), memory(7)), (NUMBER, KEPT));
        assert_eq!(said[1].ip(), counter.place + STOP);
        assert_eq!(said[2].ip(), counter.place + ENTRY);
        assert_eq!(said[6].near_branch_target(), counter.place);
        assert_eq!(said.len(), 8);
        assert!(said.iter().all(|it| it.rflags_modified() == 0));
    }
}
