//! The fast path of plain accesses by compiler-instrumented code, where most accesses end.

use crate::detect::access::{Access, Monitoring, POINTS};
use crate::detect::slot::bytes_within;
use crate::schedule::access_points::visit;
use crate::sys::interpose::{PROGRAM_CALL, store_program_call};

/// A plain access to `SIZE` aligned bytes, at most eight, just before it happens. `site` is the
/// address behind the instrumentation's call.
///
/// The common cases come first: no monitoring, a repetition in the same stretch, or an access that
/// all others happen before. None of them needs a stack frame; the other cases are tail calls.
pub(crate) extern "C-unwind" fn heddle_access<const SIZE: u64, const WRITES: bool>(
    address: u64,
    site: u64,
) {
    match POINTS.monitoring.get() {
        Monitoring::Off => return,
        Monitoring::Full => return monitored_fully::<SIZE, WRITES>(address, site),
        Monitoring::SkipRepeats => {}
    }
    let budget = POINTS.budget.get().wrapping_sub(1);
    POINTS.budget.set(budget);
    // Also below zero: an access that does not count for spin detection does not renew the budget.
    if budget.cast_signed() <= 0 {
        return general::<SIZE, WRITES>(address, site);
    }
    let Some(word) = POINTS.shadow.recent(address) else {
        return on_other_page::<SIZE, WRITES>(address, site);
    };
    let mask = mask::<SIZE>(address);
    // A cast pointer may be misaligned for its type. One branch is faster than three.
    if word.may_be_hot() | word.is_marked() | (address & (SIZE - 1) != 0) {
        return general::<SIZE, WRITES>(address, site);
    }
    let now = POINTS.now.get();
    if word.is_seen(now, mask, WRITES) {
        return;
    }
    if let Some(viewer) = POINTS.quick.get()
        && let Some(before) = word.store_if_ordered(now, mask, WRITES, site, viewer)
    {
        // If an entry with this site was stored, the site was noted, too.
        if before != site {
            note(site);
        }
        return;
    }
    compare::<SIZE, WRITES>(address, site);
}

/// The page is not in the cache of recent pages: looks it up, and puts it there.
#[cold]
extern "C-unwind" fn on_other_page<const SIZE: u64, const WRITES: bool>(address: u64, site: u64) {
    if POINTS.shadow.word(address).is_none() {
        return general::<SIZE, WRITES>(address, site);
    }
    POINTS.budget.set(POINTS.budget.get().wrapping_add(1));
    heddle_access::<SIZE, WRITES>(address, site);
}

/// The mask of aligned bytes in their word.
#[inline]
fn mask<const SIZE: u64>(address: u64) -> u8 {
    (((1u32 << SIZE) - 1) << (address & 7)) as u8
}

#[inline(never)]
fn note(site: u64) {
    crate::state::root::root().note_compiled(site);
}

/// The access is no point, and has to be compared with each earlier one.
#[inline(never)]
extern "C-unwind" fn compare<const SIZE: u64, const WRITES: bool>(address: u64, site: u64) {
    if let Some(viewer) = POINTS.quick.get()
        && let Some(word) = POINTS.shadow.recent(address)
        && let Some(before) = word.store_if_no_conflict(
            &POINTS.now.get().slot(mask::<SIZE>(address), WRITES, site),
            viewer,
        )
    {
        if before != site {
            note(site);
        }
        return;
    }
    general::<SIZE, WRITES>(address, site);
}

/// The same for a plain access of any size at any address. False, without any lasting effect, if it
/// needs more than a comparison and an entry.
#[inline]
pub(crate) fn passes(address: u64, size: u64, writes: bool, site: u64) -> bool {
    if POINTS.monitoring.get() != Monitoring::SkipRepeats || POINTS.budget.get().cast_signed() <= 0
    {
        return POINTS.monitoring.get() == Monitoring::Off;
    }
    let Some(viewer) = POINTS.quick.get() else { return false };
    let (now, end) = (POINTS.now.get(), address + size);
    let words = || (address & !7..end).step_by(8);
    // Nothing is stored for a scheduling point yet: other tasks may run first.
    if !words().all(|at| {
        POINTS.shadow.word(at).is_some_and(|word| !(word.may_be_hot() || word.is_marked()))
    }) {
        return false;
    }
    let mut is_noted = true;
    for at in words() {
        let Some(word) = POINTS.shadow.word(at) else { return false };
        let mask = bytes_within(at, address, end);
        if word.is_seen(now, mask, writes) {
            continue;
        }
        match word.store_plain(now, mask, writes, site, viewer) {
            Some(before) => is_noted &= before == site,
            None => return false,
        }
    }
    if !is_noted {
        note(site);
    }
    true
}

/// Monitoring without shortcuts.
#[cold]
extern "C-unwind" fn monitored_fully<const SIZE: u64, const WRITES: bool>(address: u64, site: u64) {
    POINTS.budget.set(POINTS.budget.get().wrapping_sub(1));
    general::<SIZE, WRITES>(address, site);
}

/// The general path. The functions above reach it by tail calls, which leave the stack pointer and
/// the preserved registers as they were at the program's call, so that they can be stored here:
/// a spin loop is recognised by them (`crate::schedule::stall`).
///
/// If the compiler did not make a tail call, the stack has a frame of the runtime, and the word at
/// the stack pointer is not the site: then nothing is stored.
#[unsafe(naked)]
extern "C-unwind" fn general<const SIZE: u64, const WRITES: bool>(address: u64, site: u64) {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "mov r11, [rsp]",
        "cmp r11, rsi",
        "jne 2f",
        store_program_call!(),
        "2:",
        "jmp {work}",
        ".cfi_endproc",
        call = sym PROGRAM_CALL,
        work = sym visit_plain::<SIZE, WRITES>,
    )
}

extern "C-unwind" fn visit_plain<const SIZE: u64, const WRITES: bool>(address: u64, site: u64) {
    visit(Access {
        address,
        size: SIZE,
        writes: WRITES,
        atomic: false,
        proven: true,
        site,
        in_parts: false,
    });
}
