//! Runs the process untraced while it only hits breakpoints: it counts them itself
//! (`probes::debugger`), a hundred times as fast as ptrace stops.

use super::machine::{Machine, ProcessState, StopEvent};
use super::tracee::{Tracee, WaitStatus};
use crate::Error;
use crate::symbols::{Memory, read_maps};
use std::mem::offset_of;
use traces::wire::{
    BreakpointTable, CONDITIONS, CountedBreakpoint, Debug, MARKS, breakpoint_flags,
};

/// A breakpoint that the process counts, and the condition for a stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct UntracedBreakpoint {
    pub(crate) mark: CountedBreakpoint,
    /// The conditions, in the form of [`traces::wire::BreakpointTable::conditions`].
    pub(crate) conditions: Vec<u8>,
}

/// The hits of an untraced run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passes {
    /// The breakpoints, with the number of hits that did not stop.
    pub(crate) marks: Vec<CountedBreakpoint>,
    /// The last recorded hit: instruction, step, number of hits in the step, task.
    pub(crate) last: Option<(u64, u64, u64, u16)>,
}

impl Machine {
    /// Runs untraced until an event, or until one of the breakpoints asks for a stop. None if the
    /// process cannot count them.
    pub(crate) fn run_untraced(
        &mut self,
        counted: &[UntracedBreakpoint],
    ) -> Result<Option<(StopEvent, Passes)>, Error> {
        let place = self.debug_word(offset_of!(Debug, loose));
        let addresses = counted.iter().map(|counted| counted.mark.address).collect();
        if let Some(happened) = self.ready(&addresses)? {
            return Ok(Some((happened, Passes::default())));
        }
        let Some(loose) = self.written_down(counted).filter(|_| place != 0) else {
            return Ok(None);
        };
        self.tracee().die_with_us(self.syscall())?;
        self.tracee()
            .write(place, bytes_of(&loose))
            .map_err(Error::system("cannot write the program's memory"))?;
        let happened = self.go_then(Tracee::run_untraced, Tracee::run)?;
        let mut passes = Passes::default();
        if !matches!(self.state(), ProcessState::Gone(_)) {
            let mut back = BreakpointTable::default();
            self.tracee().read(place, bytes_of_mut(&mut back));
            let len = (back.len as usize).min(MARKS);
            passes.marks = back.marks[..len].to_vec();
            let last = back.last.checked_sub(1).and_then(|index| passes.marks.get(index as usize));
            passes.last =
                last.map(|it| (it.address, back.last_step, back.last_count, back.last_task as u16));
            // Disable counting, in case the process stopped for another reason.
            back.on = 0;
            self.tracee()
                .write(place, &back.on.to_le_bytes())
                .map_err(Error::system("cannot write the program's memory"))?;
        }
        Ok(Some((happened, passes)))
    }

    fn written_down(&self, counted: &[UntracedBreakpoint]) -> Option<Box<BreakpointTable>> {
        if counted.len() > MARKS || matches!(self.state(), ProcessState::Gone(_)) {
            return None;
        }
        let maps = read_maps(self.tracee().pid()).ok()?;
        let mut loose = Box::new(BreakpointTable {
            on: 1,
            len: counted.len() as u64,
            copies: self.room_near(),
            ..BreakpointTable::default()
        });
        let mut used = 0;
        for (slot, counted) in loose.marks.iter_mut().zip(counted) {
            *slot = counted.mark;
            let address = slot.address;
            let mapping = maps.iter().find(|mapping| mapping.range.contains(&address))?;
            let rights = [
                (mapping.readable, libc::PROT_READ),
                (mapping.writable, libc::PROT_WRITE),
                (mapping.executable, libc::PROT_EXEC),
            ];
            let granted = rights.iter().filter(|(granted, _)| *granted);
            slot.protection = granted.map(|(_, right)| *right as u64).sum();
            let mut code = [0; 4];
            self.tracee().read(address, &mut code);
            slot.original = u64::from(self.under(address)?);
            code[0] = slot.original as u8;
            if cannot_be_stepped(code) && !(code[0] == 0xcc && self.behind_probe(address).is_some())
            {
                slot.flags |= breakpoint_flags::ALWAYS;
            }
            let len = counted.conditions.len();
            let room = loose.conditions.get_mut(used..used + len);
            match room {
                Some(room) => room.copy_from_slice(&counted.conditions),
                None => return None,
            }
            (slot.condition, slot.condition_len) = (used as u64, len as u64);
            used += len;
        }
        Some(loose)
    }
}

/// Whether an instruction cannot be single-stepped with the trap flag: it enters the kernel, reads
/// or sets the flags, or delays the trap.
fn cannot_be_stepped(code: [u8; 4]) -> bool {
    let prefixes = code.iter().take_while(|byte| matches!(byte, 0x40..=0x4f | 0x66 | 0xf2 | 0xf3));
    let from = prefixes.count();
    match code[from.min(3)] {
        0x9c | 0x9d | 0xcc | 0xcd | 0xcf | 0xf1 | 0xf4 | 0x8e => true,
        0x0f => matches!(code.get(from + 1), Some(0x05 | 0x34 | 0x0b) | None),
        _ => from > 2,
    }
}

fn bytes_of(loose: &BreakpointTable) -> &[u8] {
    // SAFETY: integers without gaps.
    unsafe {
        std::slice::from_raw_parts(std::ptr::from_ref(loose).cast(), size_of::<BreakpointTable>())
    }
}

fn bytes_of_mut(loose: &mut BreakpointTable) -> &mut [u8] {
    // SAFETY: integers, of which any bytes are a value.
    unsafe {
        std::slice::from_raw_parts_mut(
            std::ptr::from_mut(loose).cast(),
            size_of::<BreakpointTable>(),
        )
    }
}

const _: () = assert!(CONDITIONS.is_multiple_of(8), "a gap at the end of what is copied");

impl Tracee {
    /// Detaches from the process until it asks to be traced again, or ends.
    pub(crate) fn run_untraced(&self, signal: i32) -> Result<WaitStatus, Error> {
        let status = self.detach(signal)?;
        if matches!(status, WaitStatus::Signal(_)) {
            self.set_options()?;
        }
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use super::cannot_be_stepped;

    #[test]
    fn instructions_that_the_flag_does_not_suit_are_known() {
        for (code, expected) in [
            ([0x55, 0x48, 0x89, 0xe5], false),
            ([0x48, 0x8b, 0x05, 0x10], false),
            ([0x0f, 0x05, 0, 0], true),
            ([0x9c, 0, 0, 0], true),
            ([0x66, 0x9d, 0, 0], true),
            ([0xcd, 0x80, 0, 0], true),
            ([0x0f, 0x1f, 0x40, 0], false),
            ([0xf3, 0x0f, 0x1e, 0xfa], false),
            ([0x8e, 0xd0, 0, 0], true),
            ([0xe8, 1, 2, 3], false),
        ] {
            assert_eq!(cannot_be_stepped(code), expected, "{code:x?}");
        }
    }
}
