//! Letting go of the process while it does nothing but come by breakpoints: it counts them itself
//! (`probes::debugger::loose`), a hundred times as fast as it could be stopped at each.

use super::machine::{Happened, Machine, Stand};
use super::tracee::{Halt, Tracee};
use crate::Error;
use crate::symbols::{Memory, read_maps};
use std::mem::offset_of;
use std::path::Path;
use traces::wire::{CONDITIONS, Debug, Loose, MARKS, Mark, mark};

/// A breakpoint that the process is to count, and when it is to stop there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counted {
    pub(crate) mark: Mark,
    /// Its conditions, as [`traces::wire::Loose::conditions`] has them.
    pub(crate) conditions: Vec<u8>,
}

/// What a process that was let go of came by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passes {
    /// The breakpoints, with how often each was come to without a stop.
    pub(crate) marks: Vec<Mark>,
    /// The last of those that were to be recorded: its instruction, the step, how often it was come to
    /// in that, the task.
    pub(crate) last: Option<(u64, u64, u64, u16)>,
}

impl Machine {
    /// Lets it run without being held until something happens other than coming to `marks`, or where
    /// one of those says that it is to stop. None where that cannot be done.
    pub(crate) fn run_loose(
        &mut self,
        counted: &[Counted],
    ) -> Result<Option<(Happened, Passes)>, Error> {
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
            .map_err(Error::system("the program's memory"))?;
        let happened = self.go_then(Tracee::run_loose, Tracee::run)?;
        let mut passes = Passes::default();
        if !matches!(self.stand(), Stand::Gone(_)) {
            let mut back = Loose::default();
            self.tracee().read(place, bytes_of_mut(&mut back));
            let len = (back.len as usize).min(MARKS);
            passes.marks = back.marks[..len].to_vec();
            let last = back.last.checked_sub(1).and_then(|index| passes.marks.get(index as usize));
            passes.last =
                last.map(|it| (it.address, back.last_step, back.last_count, back.last_task as u16));
            // Where it stopped for something else.
            back.on = 0;
            self.tracee()
                .write(place, &back.on.to_le_bytes())
                .map_err(Error::system("the program's memory"))?;
        }
        Ok(Some((happened, passes)))
    }

    fn written_down(&self, counted: &[Counted]) -> Option<Box<Loose>> {
        if counted.len() > MARKS || matches!(self.stand(), Stand::Gone(_)) {
            return None;
        }
        let maps = read_maps(self.tracee().pid()).ok()?;
        let mut loose = Box::new(Loose {
            on: 1,
            len: counted.len() as u64,
            copies: self.room_near(),
            ..Loose::default()
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
                slot.flags |= mark::ALWAYS;
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

/// A page of memory.
pub(super) const PAGE: u64 = 4096;

/// Two pages within reach of the program's code and data, the first for copies of its instructions; 0
/// where there is no room.
pub(super) fn room_near_program(tracee: &Tracee, syscall: u64) -> Result<u64, Error> {
    const STRIDE: u64 = 1 << 20;
    const LOWEST: u64 = 1 << 16;
    let pid = tracee.pid();
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let maps = read_maps(pid).unwrap_or_default();
    let own = maps.iter().find(|mapping| Path::new(&mapping.path) == program);
    let Some(start) = own.map(|mapping| mapping.range.start) else { return Ok(0) };
    // Below: above the program its heap grows.
    let places = (1..64).map_while(|step| start.checked_sub(step * STRIDE));
    for place in places.filter(|&place| place >= LOWEST) {
        if tracee.map(syscall, place..place + 2 * PAGE)? {
            return Ok(place);
        }
    }
    Ok(0)
}

/// Whether an instruction cannot be executed alone by the processor's flag: it enters the kernel, or
/// reads or sets the flags, or holds back what comes behind it.
fn cannot_be_stepped(code: [u8; 4]) -> bool {
    let prefixes = code.iter().take_while(|byte| matches!(byte, 0x40..=0x4f | 0x66 | 0xf2 | 0xf3));
    let from = prefixes.count();
    match code[from.min(3)] {
        0x9c | 0x9d | 0xcc | 0xcd | 0xcf | 0xf1 | 0xf4 | 0x8e => true,
        0x0f => matches!(code.get(from + 1), Some(0x05 | 0x34 | 0x0b) | None),
        _ => from > 2,
    }
}

fn bytes_of(loose: &Loose) -> &[u8] {
    // SAFETY: integers without gaps.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(loose).cast(), size_of::<Loose>()) }
}

fn bytes_of_mut(loose: &mut Loose) -> &mut [u8] {
    // SAFETY: integers, of which any bytes are a value.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(loose).cast(), size_of::<Loose>()) }
}

const _: () = assert!(CONDITIONS.is_multiple_of(8), "a gap at the end of what is copied");

impl Tracee {
    /// Lets go of the process until it asks to be held again, or is gone.
    pub(crate) fn run_loose(&self, signal: i32) -> Result<Halt, Error> {
        let halt = self.let_go(signal)?;
        if matches!(halt, Halt::Signal(_)) {
            self.set_options()?;
        }
        Ok(halt)
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
