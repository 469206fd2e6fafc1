//! A task comes to a probe: its access is looked at, and may be a point.

use super::decode::{Measure, NONE, Operand};
use super::stub::{BELOW, Registers, heddle_probe_back, heddle_probe_stub};
use super::{PROBES, Probe, are_there, find, tiring};
use crate::points::shadow::{Word, bytes_within};
use crate::points::{
    Access, POINTS, arrive, done, is_awake, is_point, look, me, new_stretch, no_step, note_stack,
    out_of_sight, peek, visit,
};
use crate::world::world;
use traces::Operation;
use traces::points::Unseen;

/// After so many the watchdog is told that something moves.
const BEAT: u64 = 1024;
/// After so often without a step all probes are taken out: the rest is the watchdog's to judge, at the
/// program's own speed.
const BEATS: u64 = 1 << 15;

/// What a probe counts for among accesses, when a task is suspected of waiting: it takes that much
/// longer, and must not tire before.
const COST: u32 = 16;

/// Nothing is nearer to zero.
const LOWEST: u64 = 4096;

/// The longest access, in bytes, for which the short way is tried.
const LONGEST: u64 = 64;

/// Whether a task that comes to a probe has nobody to conflict with, or is not looked at.
fn is_alone() -> bool {
    // With one task what it did comes before all that others do.
    !is_awake() || world().created.get() == 1 && !POINTS.all.get()
}

/// A breakpoint was come to: if it is a probe, its task goes on in the stub. Called by the handler.
pub(crate) fn on_breakpoint(context: &mut libc::ucontext_t) -> bool {
    let registers = &mut context.uc_mcontext.gregs;
    let address = registers[libc::REG_RIP as usize] as u64 - 1;
    let probe = find(address).map(|at| (at, &PROBES.probes.all()[at]));
    let Some((number, probe)) = probe.filter(|(_, probe)| probe.copy != 0 && probe.breakpoint)
    else {
        // One that moved, to which nothing should have led.
        let Some(moved) = PROBES.moved.all().iter().find(|moved| moved.original == address) else {
            return false;
        };
        registers[libc::REG_RIP as usize] = moved.entry as i64;
        return true;
    };
    if is_alone() {
        registers[libc::REG_RIP as usize] = probe.copy as i64;
        return true;
    }
    let sp = registers[libc::REG_RSP as usize] as u64 - BELOW;
    // SAFETY: the task's stack below the red zone is free.
    unsafe {
        let back = heddle_probe_back as *const () as u64;
        *(sp as *mut [u64; 3]) = [back, number as u64, address];
    }
    registers[libc::REG_RSP as usize] = sp as i64;
    registers[libc::REG_RIP as usize] = heddle_probe_stub as *const () as i64;
    true
}

/// The program's own address where a copy of its instruction faulted. The program may go on from there:
/// from here on everything is where it belongs, until the execution is over.
pub(crate) fn original(address: u64) -> Option<u64> {
    if !PROBES.modules().any(|module| module.has_copy(address)) {
        return None;
    }
    let moved = PROBES.moved.all();
    let behind = moved.partition_point(|moved| moved.entry <= address);
    let found = moved[..behind].last()?.original;
    tiring::tire(|_| true);
    Some(found)
}

/// A task came to a probe: where it goes on, if the stretch that it is in did the same before. What is
/// called here must leave the vector registers alone but for the low halves of the first sixteen.
pub(super) extern "C" fn heddle_probe_seen(registers: &Registers) -> u64 {
    let probe = &mut PROBES.probes.all()[registers.probe as usize];
    if is_alone() {
        return probe.copy;
    }
    let hits = PROBES.hits.get() + 1;
    let budget = POINTS.budget.get();
    if probe.count == 0
        || probe.repeats
        || probe.atomic
        || hits.is_multiple_of(BEAT)
        || POINTS.all.get()
        || POINTS.watched.get()
        || probe.counts() && (POINTS.suspect.get() || budget <= COST)
    {
        return 0;
    }
    for operand in &probe.operands[..usize::from(probe.count)] {
        let size = match operand.measure {
            Measure::Element => operand.size,
            Measure::Register(number) => registers.general[usize::from(number)],
            Measure::String(number) => match short_text(registers.general[usize::from(number)]) {
                Some(size) => size,
                None => return 0,
            },
        };
        if !goes_unnoticed(operand, (address(operand, registers), size), probe.behind) {
            return 0;
        }
    }
    if probe.breakpoint && !probe.is_bearable() {
        return 0;
    }
    PROBES.hits.set(hits);
    if probe.counts() {
        POINTS.budget.set(budget - COST);
    }
    probe.copy
}

/// Whether an access is no point, orders nothing, and conflicts with none before it: then it is remembered, and
/// nothing more is to be done.
#[inline]
fn goes_unnoticed(operand: &Operand, (address, size): (u64, u64), site: u64) -> bool {
    let end = address.wrapping_add(size);
    if size == 0 || size > LONGEST || end < address {
        return size == 0;
    }
    let words = || (address & !7..end).step_by(8);
    let is_quiet = |word: &mut Word| !word.hot && word.synchronises(&POINTS.clocks) == 0;
    // Before a point nothing is remembered: others may come first.
    if !words().all(|at| POINTS.shadow.word(at).is_some_and(is_quiet)) {
        return false;
    }
    words().all(|at| {
        let mask = bytes_within(at, address, end);
        POINTS.shadow.word(at).is_some_and(|word| {
            word.is_seen(POINTS.now.get(), mask, operand.writes)
                || keep(word, operand, at, mask, site)
        })
    })
}

/// How long a text is, with the zero at its end, if that is not much. (To look for it at once would take the
/// vector registers.)
fn short_text(address: u64) -> Option<u64> {
    if address < LOWEST {
        return None;
    }
    // SAFETY: the program is about to do the same.
    (0..LONGEST).find(|&at| unsafe { *((address + at) as *const u8) } == 0).map(|at| at + 1)
}

/// Remembers an access that conflicts with none before it; false where that is not all there is to do.
#[inline]
fn keep(word: &mut Word, operand: &Operand, address: u64, mask: u8, site: u64) -> bool {
    let Some(viewer) = POINTS.quick.get() else { return false };
    let now = POINTS.now.get();
    // Whose stack it lies on is asked the first time.
    if !word.is_own(now, mask, operand.writes, viewer) {
        note_stack(address);
    }
    let mut keep = |writes| word.keep_plainly(now, mask, writes, site, viewer).is_some();
    (!operand.reads || keep(false)) && (!operand.writes || keep(true))
}

/// Tells the watchdog that something moves, unless nothing else has for long.
fn beat() {
    let (last, count) = PROBES.beats.get();
    let count = if crate::manager::beats() == last { count + 1 } else { 0 };
    if count < BEATS {
        crate::manager::beat();
    } else if count == BEATS {
        tiring::tire(|_| true);
    }
    PROBES.beats.set((crate::manager::beats(), count));
}

/// Whether the runtime is perhaps about to serve a probe here, or has just served one.
pub(crate) fn may_serve(address: u64) -> bool {
    let (text, len) = crate::entry::own_text();
    are_there() && (text..text + len).contains(&address)
}

/// The same in any case.
pub(super) extern "C-unwind" fn heddle_probe(registers: &mut Registers) -> u64 {
    let probe = &mut PROBES.probes.all()[registers.probe as usize];
    if probe.breakpoint && !probe.is_bearable() {
        let address = probe.address;
        let all = PROBES.stops.get() >= tiring::ALL_TIRE_AFTER;
        tiring::tire(|one| all || one == address);
    }
    PROBES.hits.set(PROBES.hits.get() + 1);
    if PROBES.hits.get().is_multiple_of(BEAT) {
        beat();
    }
    crate::signals::end_if_due(probe.behind);
    // It stays on the task's stack while that waits, where nothing may tell one time from another
    // (`crate::stall`).
    let probe = Probe { step: 0, hits: 0, ..*probe };
    if probe.count == 0 {
        out_of_sight(Unseen::Forms);
    }
    if probe.counts() {
        POINTS.budget.set(POINTS.budget.get().saturating_sub(COST));
    }
    let task = world().task();
    task.probed.set(&raw const *registers as u64);
    for operand in &probe.operands[..usize::from(probe.count)] {
        if let Some((address, size)) = extent(&probe, operand, registers) {
            touch(&probe, operand, address, size);
        }
    }
    task.probed.set(0);
    probe.copy
}

/// Where an operand lies.
#[inline]
fn address(operand: &Operand, registers: &Registers) -> u64 {
    let register = |number: u8| match number {
        NONE => 0,
        number => registers.general[usize::from(number & 15)],
    };
    let scaled = register(operand.index).wrapping_mul(u64::from(operand.scale));
    register(operand.base).wrapping_add(scaled).wrapping_add(operand.displacement)
}

/// Where an operand lies, and how far it goes.
fn extent(probe: &Probe, operand: &Operand, registers: &Registers) -> Option<(u64, u64)> {
    const DIRECTION: u64 = 1 << 10;
    const RCX: usize = 1;
    let address = address(operand, registers);
    let count = match operand.measure {
        Measure::Element => None,
        Measure::Register(number) => Some(registers.general[usize::from(number)]),
        // The program is about to fail, and is to do so by itself.
        Measure::String(number) if registers.general[usize::from(number)] < LOWEST => Some(0),
        Measure::String(number) => {
            let text = registers.general[usize::from(number)] as *const std::ffi::c_char;
            // SAFETY: the program is about to do the same.
            Some(unsafe { libc::strlen(text) } as u64 + 1)
        }
    };
    if let Some(count) = count {
        return (count > 0).then_some((address, count));
    }
    if !probe.repeats || !probe.string {
        return Some((address, operand.size));
    }
    let count = registers.general[RCX];
    // One that looks for something ends where it finds it: of those the first element counts.
    let searches =
        probe.count > 0 && probe.operands[..usize::from(probe.count)].iter().all(|o| !o.writes);
    let count = if searches { count.min(1) } else { count };
    let size = operand.size.checked_mul(count).filter(|&size| size > 0)?;
    let backwards = registers.flags & DIRECTION != 0;
    Some((if backwards { address - (size - operand.size) } else { address }, size))
}

fn touch(probe: &Probe, operand: &Operand, address: u64, size: u64) {
    let access = |writes| Access {
        address,
        size,
        writes,
        atomic: probe.atomic,
        proven: false,
        site: probe.behind,
    };
    match (operand.reads, operand.writes) {
        (true, true) if probe.atomic => {
            let access = access(true);
            let is_point = is_point(&access);
            if is_point {
                arrive(&access, Operation::Update);
            } else {
                // A lock may be waited for by trying to take it again and again.
                no_step(&access, probe.counts());
            }
            look(&access);
            synchronise(address, size, true, true, true);
            if is_point {
                done(&access);
            }
        }
        // Two steps, as between them another task may write: what was read stays read.
        (true, true) if size <= 8 && is_point(&access(false)) => {
            plain(&access(false));
            let read = peek(address, size);
            plain(&access(true));
            if peek(address, size) != read {
                // SAFETY: the program is about to write there.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        (&raw const read).cast::<u8>(),
                        address as *mut u8,
                        size as usize,
                    );
                }
            }
        }
        (true, true) => {
            plain(&access(false));
            plain(&access(true));
        }
        (_, writes) => plain(&access(writes)),
    }
}

fn plain(access: &Access) {
    visit(*access);
    synchronise(access.address, access.size, !access.writes, access.writes, false);
}

/// What an access orders: an atomic read-modify-write, and anything else where there were such, or where
/// accesses conflict. Its neighbours in the same eight bytes are other variables.
fn synchronise(address: u64, size: u64, reads: bool, writes: bool, atomic: bool) {
    let Some(cell) = POINTS.shadow.word(address) else { return };
    let mask = (((1u32 << size.min(8)) - 1) << (address & 7)) as u8;
    if atomic {
        cell.synchronise(mask, &POINTS.clocks);
    }
    if cell.synchronises(&POINTS.clocks) & mask == 0 && !cell.hot {
        return;
    }
    if reads {
        POINTS.clocks.acquire(me(), address);
    }
    if writes {
        POINTS.clocks.release(me(), address);
    }
    new_stretch();
}
