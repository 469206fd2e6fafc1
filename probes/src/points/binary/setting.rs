//! Setting the probes that an execution is to have, and no others.

use super::decode::Function;
use super::module::Module;
use super::plan::{self, Step};
use super::trampoline::{self, Area, Copied};
use super::{PROBES, Patch, Probe, patch};
use crate::points::{learned, out_of_sight};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use std::sync::atomic::Ordering::Relaxed;
use traces::points::Unseen;
use traces::wire::Probing;

/// Which probes are to be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Those that conflicted.
    Learned,
    /// All but those that address by the stack pointer.
    All,
    /// Those, too: some task touches another's stack.
    WithStacks,
}

/// Sets the probes that are wanted in the execution that begins, and no others.
pub(in crate::points) fn refresh(wanted: Wanted, known: usize) {
    if !super::are_there() {
        return;
    }
    PROBES.hits.set(0);
    PROBES.stops.set(0);
    let before = PROBES.state.replace(Some((known, wanted)));
    let tired = PROBES.tired.replace(false);
    if before == Some((known, wanted)) && !tired {
        return;
    }
    PROBES.probes.all().iter_mut().for_each(|probe| probe.known = learned::is_site(probe.behind));
    // The same ones, where only what is known has changed, or some were taken out.
    if before
        .is_some_and(|(old, same)| same == wanted && (wanted != Wanted::Learned || old == known))
    {
        if tired {
            PROBES.modules().for_each(|module| _ = module.with_text(|| put_in(module)));
        }
        return;
    }
    let is_wanted = |probe: &Probe| match wanted {
        Wanted::Learned => learned::is_site(probe.behind),
        Wanted::All => !probe.stack,
        Wanted::WithStacks => true,
    };
    restore();
    let done = PROBES.modules().all(|module| set_module(module, is_wanted));
    PROBES.moved.all().sort_unstable_by_key(|moved| moved.entry);
    let done = done && note_written();
    count_jumps();
    if !done {
        crate::channel::fail(
            "the system does not let the program's text be changed: use --points api",
        );
    }
}

/// Says how many probes there are at most, and how many of those are jumps.
fn count_jumps() {
    let set = || PROBES.probes.all().iter().filter(|probe| probe.copy != 0);
    let (probes, jumps) = (set().count(), set().filter(|probe| !probe.breakpoint).count());
    let sight = &crate::channel::header().sight;
    if probes as u64 > sight.probes.load(Relaxed) {
        sight.probes.store(probes as u64, Relaxed);
        sight.jumps.store(jumps as u64, Relaxed);
    }
}

/// Keeps what was written into the text, so that it can be put in again; false if there is no room.
fn note_written() -> bool {
    PROBES.written.clear();
    PROBES.patched.all().iter_mut().all(|patch| {
        patch.written = PROBES.written.all().len() as u32;
        // SAFETY: the program's text.
        let bytes =
            unsafe { std::slice::from_raw_parts(patch.address as *const u8, patch.len as usize) };
        bytes.iter().all(|&byte| PROBES.written.push(byte))
    })
}

/// Puts all probes of a module in again that were taken out. The text is writable.
fn put_in(module: &Module) {
    for patch in PROBES.patched.all().iter().filter(|patch| module.has(patch.address)) {
        let from = patch.written as usize;
        patch::restore(patch.address, &PROBES.written.all()[from..from + patch.len as usize]);
    }
}

/// Puts the program's own bytes back where the text of a module was changed. The text is writable.
pub(super) fn put_back(module: &Module, which: impl Fn(u64) -> bool) {
    let here = |patch: &&Patch| module.has(patch.address) && which(patch.address);
    for patch in PROBES.patched.all().iter().filter(here) {
        patch::restore(patch.address, module.pristine(patch.address, patch.len as usize));
    }
}

/// Puts the text back as the program has it.
fn restore() {
    if !PROBES.patched.all().is_empty() {
        PROBES.modules().for_each(|module| _ = module.with_text(|| put_back(module, |_| true)));
    }
    PROBES.patched.clear();
    PROBES.moved.clear();
    PROBES.probes.all().iter_mut().for_each(|probe| probe.copy = 0);
}

/// Sets the probes of one module that are wanted; false if the system does not let us.
fn set_module(module: &Module, is_wanted: impl Fn(&Probe) -> bool) -> bool {
    let mut area = module.area.borrow_mut();
    let Some(area) = area.as_mut() else { return true };
    let set = |area: &mut Area| {
        let mut probes = PROBES.probes.all();
        for function in PROBES.functions.all() {
            let len = probes.iter().take_while(|probe| probe.address < function.end).count();
            let (here, rest) = probes.split_at_mut(len);
            let first = PROBES.probes.all().len() - rest.len() - len;
            if module.has(function.start) {
                set_in(module, area, function, here, first, &is_wanted);
            }
            probes = rest;
        }
    };
    area.clear();
    area.open(true) && module.with_text(|| set(area)) && area.open(false)
}

/// Sets the probes of one function that are wanted; `first` is the number of the first of `probes`. The
/// text and the area are writable.
fn set_in(
    module: &Module,
    area: &mut Area,
    function: &Function,
    probes: &mut [Probe],
    first: usize,
    is_wanted: impl Fn(&Probe) -> bool,
) {
    if !probes.iter().any(&is_wanted) {
        return;
    }
    let code = module.pristine(function.start, (function.end - function.start) as usize);
    let decoder = Decoder::with_ip(64, code, function.start, DecoderOptions::NONE);
    let instructions: Vec<Instruction> = decoder.into_iter().collect();
    let targets = PROBES.targets.all();
    let steps = instructions.iter().map(|one| Step {
        address: one.ip(),
        len: one.len() as u64,
        moves: trampoline::moves(one),
        target: targets.binary_search(&one.ip()).is_ok(),
    });
    let steps: Vec<Step> = steps.collect();
    let place = |address: u64| steps.partition_point(|step| step.address < address);
    let wanted: Vec<usize> =
        probes.iter().filter(|probe| is_wanted(probe)).map(|probe| place(probe.address)).collect();
    // A debugger goes by the program's own text.
    let jumps = crate::manager::root().probing == Probing::Jumps && !crate::debugger::is_there();
    let ranges = match jumps {
        false => Vec::new(),
        true => plan::ranges(&steps, &wanted, function.certain),
    };
    let copied = |at: usize, probe: Option<u32>| {
        let instruction = &instructions[at];
        let from = (instruction.ip() - function.start) as usize;
        Copied { instruction, bytes: &code[from..from + instruction.len()], probe }
    };
    let number = |probes: &[Probe], at: usize| {
        let address = steps[at].address;
        let found = probes.binary_search_by_key(&address, |probe| probe.address).ok();
        found.filter(|&found| is_wanted(&probes[found]))
    };
    for (low, high) in ranges {
        let all: Vec<Copied<'_>> = (low..=high)
            .map(|at| copied(at, number(probes, at).map(|found| (first + found) as u32)))
            .collect();
        let Some(moved) = area.add(&all) else { continue };
        for (at, one) in (low..=high).zip(&moved) {
            PROBES.moved.push(*one);
            if let Some(found) = number(probes, at) {
                (probes[found].copy, probes[found].breakpoint) = (one.copy, false);
            }
        }
        let from = steps[low].address;
        let end = steps[high].address + steps[high].len;
        PROBES.patched.push(Patch { address: from, len: (end - from) as u32, written: 0 });
        patch::jump(from, moved[0].entry);
        // Nothing should come to what is behind it; if something does, it goes on in the copy.
        steps[low..=high]
            .iter()
            .filter(|step| step.address >= from + plan::JUMP)
            .for_each(|step| patch::breakpoint(step.address));
    }
    for at in wanted {
        let Some(found) = number(probes, at).filter(|&found| probes[found].copy == 0) else {
            continue;
        };
        let Some(moved) = area.add(&[copied(at, None)]) else {
            out_of_sight(Unseen::Undecoded);
            continue;
        };
        PROBES.moved.push(moved[0]);
        PROBES.patched.push(Patch { address: steps[at].address, len: 1, written: 0 });
        (probes[found].copy, probes[found].breakpoint) = (moved[0].copy, true);
        patch::breakpoint(steps[at].address);
    }
}
