//! Installs exactly the probes that an execution needs.

use crate::detect::access::note_gap;
use crate::detect::learned_points;
use crate::instrument::binary::calls;
use crate::instrument::binary::decode::Function;
use crate::instrument::binary::jump_plan::{self, Step};
use crate::instrument::binary::module::Module;
use crate::instrument::binary::spin_reads;
use crate::instrument::binary::targets;
use crate::instrument::binary::trampoline::{self, Area, Copied};
use crate::instrument::binary::{PROBES, Patch, Probe, patch};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::InstrumentationGap;
use traces::wire::Probing;

/// Which probes are to be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Probes on instructions that have conflicted.
    Learned,
    /// All probes except those on instructions that address memory by the stack pointer.
    All,
    /// All: some task accesses another task's stack.
    WithStacks,
}

/// Installs exactly the wanted probes for the execution that begins.
pub(crate) fn refresh(wanted: Wanted, known: usize) {
    if !crate::instrument::binary::are_any() {
        return;
    }
    targets::begin();
    calls::begin();
    spin_reads::forget();
    PROBES.hits.set(0);
    PROBES.hits_alone.set(0);
    PROBES.absent_alone.set(false);
    PROBES.stops.set(0);
    let before = PROBES.state.replace(Some((known, wanted)));
    let removed = PROBES.removed.replace(false);
    if before == Some((known, wanted)) && !removed {
        return;
    }
    PROBES.version.set(PROBES.version.get() + 1);
    let probes = PROBES.probes.all();
    probes.iter().for_each(|probe| probe.known.set(learned_points::is_site(probe.behind)));
    // The same probes are wanted as before: only the known sites have changed, or some probes were
    // removed.
    if before
        .is_some_and(|(old, same)| same == wanted && (wanted != Wanted::Learned || old == known))
    {
        if removed {
            write_again();
        }
        return;
    }
    let is_wanted = |probe: &Probe| match wanted {
        _ if probe.is_always_needed() => true,
        Wanted::Learned => learned_points::is_site(probe.behind),
        Wanted::All => !probe.stack,
        Wanted::WithStacks => true,
    };
    restore();
    let done = PROBES.modules().all(|module| set_module(module, is_wanted));
    // SAFETY: no slice of the lists is in use: only `probe_hit` and `hot_probes` use some, while a task runs.
    unsafe {
        PROBES.moved.sort_by_key(|moved| moved.entry);
        PROBES.patched.sort_by_key(|patch| patch.address);
    }
    let done = done && note_written();
    count_jumps();
    if !done {
        crate::sys::channel::fail(
            "the system refuses to make the program's code writable: use --points api",
        );
    }
}

/// Reports the maximum number of probes, and how many of them are jumps.
fn count_jumps() {
    let set = || PROBES.probes.all().iter().filter(|probe| probe.copy.get() != 0);
    let (probes, jumps) = (set().count(), set().filter(|probe| !probe.breakpoint.get()).count());
    let instrumentation = &crate::sys::channel::header().instrumentation;
    if probes as u64 > instrumentation.probes.load(Relaxed) {
        instrumentation.probes.store(probes as u64, Relaxed);
        instrumentation.jumps.store(jumps as u64, Relaxed);
    }
}

/// Saves what was written to the text, so that it can be written again; false if there is no room.
fn note_written() -> bool {
    // SAFETY: slices of the list are used only in `put_in`, which is not running.
    unsafe { PROBES.written.clear() };
    PROBES.patched.all().iter().all(|patch| {
        patch.written.set(PROBES.written.all().len() as u32);
        // SAFETY: a range of the program's text, mapped and readable; the slice is dropped before
        // the text changes again.
        let bytes =
            unsafe { std::slice::from_raw_parts(patch.address as *const u8, patch.len as usize) };
        bytes.iter().all(|&byte| PROBES.written.push(byte))
    })
}

/// Writes all probes again that were removed.
pub(super) fn write_again() {
    PROBES.modules().for_each(|module| _ = module.with_text(|| put_in(module)));
}

/// Writes all probes of a module again that were removed. The text is writable.
fn put_in(module: &Module) {
    for patch in PROBES.patched.all().iter().filter(|patch| module.has(patch.address)) {
        let from = patch.written.get() as usize;
        patch::restore(patch.address, &PROBES.written.all()[from..from + patch.len as usize]);
    }
}

/// Restores the program's own bytes where the text of a module was changed. The text is writable.
pub(super) fn put_back(module: &Module, which: impl Fn(&Patch) -> bool) {
    let here = |patch: &&Patch| module.has(patch.address) && which(patch);
    for patch in PROBES.patched.all().iter().filter(here) {
        patch::restore(patch.address, module.pristine(patch.address, patch.len as usize));
    }
}

/// Restores the program's own bytes in these changed ranges.
pub(super) fn put_back_some(patches: &[&Patch]) {
    let is_in = |module: &Module| patches.iter().any(|patch| module.has(patch.address));
    for module in PROBES.modules().filter(|module| is_in(module)) {
        module.with_text(|| {
            for patch in patches.iter().filter(|patch| module.has(patch.address)) {
                patch::restore(patch.address, module.pristine(patch.address, patch.len as usize));
            }
        });
    }
}

/// The changed range of text that contains an address.
pub(super) fn patch_at(address: u64) -> Option<&'static Patch> {
    let patches = PROBES.patched.all();
    let behind = patches.partition_point(|patch| patch.address <= address);
    let patch = &patches[behind.checked_sub(1)?];
    (address < patch.address + u64::from(patch.len)).then_some(patch)
}

/// Restores the program's text.
fn restore() {
    if !PROBES.patched.all().is_empty() {
        PROBES.modules().for_each(|module| _ = module.with_text(|| put_back(module, |_| true)));
    }
    // SAFETY: slices of the two lists are used only in this file, within the functions called above,
    // and in `probe_hit` and `hot_probes`, while a task runs.
    unsafe {
        PROBES.patched.clear();
        PROBES.moved.clear();
    }
    PROBES.probes.all().iter().for_each(|probe| probe.copy.set(0));
}

/// Installs the wanted probes of one module; false if the system refuses to change the text.
fn set_module(module: &Module, is_wanted: impl Fn(&Probe) -> bool) -> bool {
    let mut area = module.area.borrow_mut();
    let Some(area) = area.as_mut() else { return true };
    let set = |area: &mut Area| {
        let mut probes = PROBES.probes.all();
        for function in PROBES.functions.all() {
            let len = probes.iter().take_while(|probe| probe.address < function.end).count();
            let (here, rest) = probes.split_at(len);
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

/// Installs the wanted probes of one function; `first` is the index of the first of `probes`. The
/// text and the area are writable.
fn set_in(
    module: &Module,
    area: &mut Area,
    function: &Function,
    probes: &[Probe],
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
    // A debugger shows the program's own text, in which it can hide only breakpoints.
    let jumps =
        crate::state::root::root().probing == Probing::Jumps && !crate::sys::stops::is_there();
    let ranges = match jumps {
        false => Vec::new(),
        true => jump_plan::ranges(&steps, &wanted, function.certain),
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
                probes[found].copy.set(one.copy);
                probes[found].breakpoint.set(false);
            }
        }
        let from = steps[low].address;
        let end = steps[high].address + steps[high].len;
        let has_predicate = |probe: &Probe| probe.predicate && (from..end).contains(&probe.address);
        PROBES.patched.push(Patch {
            address: from,
            len: (end - from) as u32,
            written: Cell::new(0),
            predicate: probes.iter().any(has_predicate),
        });
        patch::jump(from, moved[0].entry);
        // No branch should lead behind the jump; if one does, the breakpoints send the task to the
        // copy.
        steps[low..=high]
            .iter()
            .filter(|step| step.address >= from + jump_plan::JUMP)
            .for_each(|step| patch::breakpoint(step.address));
    }
    for at in wanted {
        let Some(found) = number(probes, at).filter(|&found| probes[found].copy.get() == 0) else {
            continue;
        };
        let Some(moved) = area.add(&[copied(at, None)]) else {
            let is_site = probes[found].predicate;
            note_gap(InstrumentationGap::Undecoded);
            if is_site {
                note_gap(InstrumentationGap::Sites);
            }
            continue;
        };
        PROBES.moved.push(moved[0]);
        let predicate = probes[found].predicate;
        let address = steps[at].address;
        PROBES.patched.push(Patch { address, len: 1, written: Cell::new(0), predicate });
        probes[found].copy.set(moved[0].copy);
        probes[found].breakpoint.set(true);
        patch::breakpoint(steps[at].address);
    }
}
