//! The short way of a plain access by compiled code: most are looked at here, and go no further.

use super::shadow::bytes_within;
use super::{Access, Looks, POINTS, visit};

/// A plain access to `SIZE` aligned bytes, at most eight, just before it happens. `site` is the address
/// behind the call that tells of it.
///
/// The common ways out come first: nobody looks, the stretch did the same before, or all that was done to the
/// word came before it. None of them needs a frame; what comes after goes on in place of the caller's call.
pub(super) extern "C-unwind" fn heddle_access<const SIZE: u64, const WRITES: bool>(
    address: u64,
    site: u64,
) {
    match POINTS.looks.get() {
        Looks::Nobody => return,
        Looks::Closely => return closely::<SIZE, WRITES>(address, site),
        Looks::Quickly => {}
    }
    let budget = POINTS.budget.get().wrapping_sub(1);
    POINTS.budget.set(budget);
    // Below zero, too: of accesses that do not count for waiting some are left out.
    if budget.cast_signed() <= 0 {
        return at_length::<SIZE, WRITES>(address, site);
    }
    let Some(word) = POINTS.shadow.recent(address) else {
        return elsewhere::<SIZE, WRITES>(address, site);
    };
    let mask = mask::<SIZE>(address);
    // A cast pointer may be at any address, whatever its type says.
    if word.hot || word.orders || address & (SIZE - 1) != 0 {
        return at_length::<SIZE, WRITES>(address, site);
    }
    let now = POINTS.now.get();
    if word.is_seen(now, mask, WRITES) {
        return;
    }
    if let Some(viewer) = POINTS.quick.get()
        && let Some(before) = word.keep_next(now, mask, WRITES, site, viewer)
    {
        // What was remembered was noted, too.
        if before != site {
            note(site);
        }
        return;
    }
    compared::<SIZE, WRITES>(address, site);
}

/// The page is not among those found last: it is found, and may be from there on.
#[cold]
extern "C-unwind" fn elsewhere<const SIZE: u64, const WRITES: bool>(address: u64, site: u64) {
    if POINTS.shadow.word(address).is_none() {
        return at_length::<SIZE, WRITES>(address, site);
    }
    POINTS.budget.set(POINTS.budget.get().wrapping_add(1));
    heddle_access::<SIZE, WRITES>(address, site);
}

/// Which bytes of the word: they are aligned.
#[inline]
fn mask<const SIZE: u64>(address: u64) -> u8 {
    (((1u32 << SIZE) - 1) << (address & 7)) as u8
}

#[inline(never)]
fn note(site: u64) {
    crate::manager::root().note_compiled(site);
}

/// The access is no point, and has to be compared with those before one by one.
#[inline(never)]
extern "C-unwind" fn compared<const SIZE: u64, const WRITES: bool>(address: u64, site: u64) {
    if let Some(viewer) = POINTS.quick.get()
        && let Some(word) = POINTS.shadow.recent(address)
        && let Some(before) =
            word.keep_quietly(&POINTS.now.get().slot(mask::<SIZE>(address), WRITES, site), viewer)
    {
        if before != site {
            note(site);
        }
        return;
    }
    at_length::<SIZE, WRITES>(address, site);
}

/// The same for a plain access of any size at any address; false, and nothing is done that counts, where it needs
/// more than being compared and remembered.
#[inline]
pub(super) fn passes(address: u64, size: u64, writes: bool, site: u64) -> bool {
    if POINTS.looks.get() != Looks::Quickly || POINTS.budget.get().cast_signed() <= 0 {
        return POINTS.looks.get() == Looks::Nobody;
    }
    let Some(viewer) = POINTS.quick.get() else { return false };
    let (now, end) = (POINTS.now.get(), address + size);
    let words = || (address & !7..end).step_by(8);
    // Before a point nothing is remembered: others may come first.
    if !words().all(|at| POINTS.shadow.word(at).is_some_and(|word| !(word.hot || word.orders))) {
        return false;
    }
    let mut is_noted = true;
    for at in words() {
        let Some(word) = POINTS.shadow.word(at) else { return false };
        let mask = bytes_within(at, address, end);
        if word.is_seen(now, mask, writes) {
            continue;
        }
        match word.keep_plainly(now, mask, writes, site, viewer) {
            Some(before) => is_noted &= before == site,
            None => return false,
        }
    }
    if !is_noted {
        note(site);
    }
    true
}

/// Each access is looked at.
#[cold]
extern "C-unwind" fn closely<const SIZE: u64, const WRITES: bool>(address: u64, site: u64) {
    POINTS.budget.set(POINTS.budget.get().wrapping_sub(1));
    at_length::<SIZE, WRITES>(address, site);
}

#[inline(never)]
extern "C-unwind" fn at_length<const SIZE: u64, const WRITES: bool>(address: u64, site: u64) {
    visit(Access { address, size: SIZE, writes: WRITES, atomic: false, proven: true, site });
}
