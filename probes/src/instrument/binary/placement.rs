//! Installs and removes probes in the program's text.

use crate::detect::access::note_gap;
use crate::instrument::binary::jump_plan::{self, Step};
use crate::instrument::binary::module::Module;
use crate::instrument::binary::outline::Function;
use crate::instrument::binary::patch;
use crate::instrument::binary::probe::{PROBES, Patch, Probe, Wanted};
use crate::instrument::binary::trampoline::{self, Area, Copied};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use std::cell::Cell;
use traces::points::InstrumentationGap;
use traces::wire::Probing;

/// Installs the wanted probes of some functions of a module, whose text is in this range; false if the system refuses
/// to change it. Functions of other modules, and those that have their probes, are left out.
pub(super) fn place<'a>(
    module: &Module,
    range: (u64, u64),
    functions: impl Iterator<Item = &'a Function>,
    wanted: Wanted,
) -> bool {
    let mut area = module.area.borrow_mut();
    let Some(area) = area.as_mut() else { return true };
    let place = |area: &mut Area| {
        for function in functions {
            if module.has(function.start) && !function.is_placed.replace(true) {
                place_in(module, area, function, wanted);
                note_written(function);
                let removal = PROBES.removal.get();
                let removed = PROBES.patches_of(function).iter();
                removed
                    .filter(|patch| removal.includes(patch))
                    .for_each(|patch| put_back_one(module, patch));
            }
        }
    };
    area.open(true) && module.pages.with_text(range, || place(area)) && area.open(false)
}

/// Saves what was written to the text of a function, so that it can be written again.
fn note_written(function: &Function) {
    for patch in PROBES.patches_of(function) {
        patch.written.set(PROBES.written.all().len() as u32);
        // SAFETY: a range of the program's text, mapped and readable; the slice is dropped before
        // the text changes again.
        let bytes =
            unsafe { std::slice::from_raw_parts(patch.address as *const u8, patch.len as usize) };
        // There is room for the whole text.
        bytes.iter().for_each(|&byte| _ = PROBES.written.push(byte));
    }
}

/// Writes all probes again that were removed.
pub(super) fn write_again() {
    PROBES.modules().for_each(|module| {
        module.with_text(|| {
            for patch in PROBES.patches_in(module) {
                let from = patch.written.get() as usize;
                patch::restore(
                    patch.address,
                    &PROBES.written.all()[from..from + patch.len as usize],
                );
            }
        });
    });
}

/// Restores the program's own bytes in these changed ranges.
pub(super) fn put_back(patches: &[&Patch]) {
    for module in PROBES.modules() {
        put_back_in(module, patches.iter().copied().filter(|patch| module.has(patch.address)));
    }
}

/// Restores the program's own bytes in all changed ranges that are meant.
pub(super) fn put_back_where(is_meant: impl Fn(&Patch) -> bool) {
    for module in PROBES.modules() {
        put_back_in(module, PROBES.patches_in(module).filter(|patch| is_meant(patch)));
    }
}

fn put_back_in<'a>(module: &Module, patches: impl Iterator<Item = &'a Patch>) {
    let mut patches = patches.peekable();
    if patches.peek().is_some() {
        module.with_text(|| patches.for_each(|patch| put_back_one(module, patch)));
    }
}

/// The same for one range. The text is writable.
fn put_back_one(module: &Module, patch: &Patch) {
    patch::restore(patch.address, module.pristine(patch.address, patch.len as usize));
}

/// The changed range of text that contains an address.
pub(super) fn patch_at(address: u64) -> Option<&'static Patch> {
    let patches = PROBES.patches_of(PROBES.function(address)?.1);
    let behind = patches.partition_point(|patch| patch.address <= address);
    let patch = &patches[behind.checked_sub(1)?];
    (address < patch.address + u64::from(patch.len)).then_some(patch)
}

/// Removes all probes.
pub(super) fn restore() {
    put_back_where(|_| true);
    for function in PROBES.filled() {
        function.patches.set(0);
        function.is_placed.set(false);
        PROBES.of(function).iter().for_each(|probe| probe.copy.set(0));
    }
    // SAFETY: slices of the lists are used only in this file, within the functions called above,
    // and in `probe_hit` and `hot_probes`, while a task runs.
    unsafe {
        PROBES.written.clear();
        PROBES.modules().for_each(|module| module.moved.clear());
    }
    for module in PROBES.modules() {
        module.area.borrow_mut().iter_mut().for_each(Area::clear);
    }
    PROBES.installed.set(0);
    PROBES.jumps.set(0);
}

/// Installs the wanted probes of one function. Its text and the area are writable.
fn place_in(module: &Module, area: &mut Area, function: &Function, wanted: Wanted) {
    let (probes, first) = (PROBES.of(function), function.first as usize);
    let is_wanted = |probe: &Probe| wanted.has(probe);
    if !probes.iter().any(is_wanted) {
        return;
    }
    let code = module.pristine(function.start, (function.end - function.start) as usize);
    let decoder = Decoder::with_ip(64, code, function.start, DecoderOptions::NONE);
    let instructions: Vec<Instruction> = decoder.into_iter().collect();
    let targets = module.targets.borrow();
    let steps = instructions.iter().map(|one| Step {
        address: one.ip(),
        len: one.len() as u64,
        moves: trampoline::moves(one),
        target: targets.contains(one.ip()),
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
    let mut patches = Vec::new();
    for (low, high) in ranges {
        let all: Vec<Copied<'_>> = (low..=high)
            .map(|at| copied(at, number(probes, at).map(|found| (first + found) as u32)))
            .collect();
        let Some(moved) = area.add(&all) else { continue };
        for (at, one) in (low..=high).zip(&moved) {
            module.moved.push(*one);
            if let Some(found) = number(probes, at) {
                probes[found].copy.set(one.copy);
                probes[found].breakpoint.set(false);
                PROBES.installed.set(PROBES.installed.get() + 1);
                PROBES.jumps.set(PROBES.jumps.get() + 1);
            }
        }
        let from = steps[low].address;
        let end = steps[high].address + steps[high].len;
        let has_predicate = |probe: &Probe| probe.predicate && (from..end).contains(&probe.address);
        let predicate = probes.iter().any(has_predicate);
        let len = (end - from) as u32;
        patches.push(Patch { address: from, len, written: Cell::new(0), predicate });
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
        module.moved.push(moved[0]);
        let predicate = probes[found].predicate;
        let address = steps[at].address;
        patches.push(Patch { address, len: 1, written: Cell::new(0), predicate });
        probes[found].copy.set(moved[0].copy);
        probes[found].breakpoint.set(true);
        PROBES.installed.set(PROBES.installed.get() + 1);
        patch::breakpoint(steps[at].address);
    }
    patches.sort_unstable_by_key(|patch| patch.address);
    for patch in patches {
        let number = function.first + function.patches.get();
        // SAFETY: no slice contains the entry: those of a function's patches end with their number.
        if unsafe { PROBES.patched.write(number as usize, patch) } {
            function.patches.set(function.patches.get() + 1);
        }
    }
}
