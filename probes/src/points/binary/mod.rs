//! Scheduling points in a program as it is: probes on its own instructions.
//!
//! A probe is a jump in the place of the instruction and, where it is too short, of its neighbours
//! ([`plan`]), or else a breakpoint. While it is learned what conflicts they stand on every instruction
//! that touches memory which another task might touch ([`decode`]); in the search on those that
//! conflicted. A task that comes to one goes on in a stub ([`stub`]), where the access is looked at and may be a scheduling point; then a copy of
//! the instruction runs ([`trampoline`]).
//!
//! In x86-64 code a relaxed store, a releasing one and a plain one are one and the same instruction. So
//! what conflicts here is no race, and for the order of what follows it counts as an atomic: whoever
//! reads it knows what its writer did before.

mod decode;
mod image;
mod kept;
mod patch;
mod plan;
mod routines;
mod stub;
mod targets;
mod trampoline;

use super::{
    Access, POINTS, done, is_awake, is_point, learned, look, me, new_stretch, peek, visit,
};
use crate::raw;
use crate::world::world;
use decode::{Function, Measure, NONE, Operand};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use kept::Kept;
use plan::Step;
use std::cell::{Cell, RefCell};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering::Relaxed;
use stub::{BELOW, Registers, heddle_probe_back, heddle_probe_stub};
use traces::Operation;
use traces::points::Unseen;
use traces::wire::Probing;
use trampoline::{Area, Copied, Moved};

/// A breakpoint that is come to so often without a step is taken out until the execution is over.
const TIRES_AFTER: u32 = 5_000;
/// After so many in one execution all are.
const ALL_TIRE_AFTER: u64 = 1_000_000;

/// After so many the watchdog is told that something moves.
const BEAT: u64 = 1024;
/// After so often without a step all probes are taken out: the rest is the watchdog's to judge, at the
/// program's own speed.
const BEATS: u64 = 1 << 15;

/// What a probe counts for among accesses, when a task is suspected of waiting: it takes that much
/// longer, and must not tire before.
const COST: u32 = 16;

/// Operands that an instruction has at most.
const OPERANDS: usize = 2;

/// One instruction.
#[derive(Debug, Clone, Copy)]
struct Probe {
    address: u64,
    behind: u64,
    /// Where its copy lies; 0 where it is not set.
    copy: u64,
    operands: [Operand; OPERANDS],
    count: u8,
    atomic: bool,
    repeats: bool,
    string: bool,
    stack: bool,
    /// Whether a breakpoint stands there, and no jump.
    breakpoint: bool,
    /// Whether it is known to have conflicted.
    known: bool,
    /// How often it was come to since this step.
    hits: u32,
    step: u64,
}

impl Probe {
    /// Whether its accesses count when a task is suspected of waiting. In a search that looks at more than
    /// what conflicted, the rest must make no difference: whoever runs a schedule again looks at less.
    fn counts(&self) -> bool {
        self.known || !POINTS.picky.get()
    }

    /// Counts a stop at a breakpoint; false, and it is not counted, if there were too many.
    fn is_bearable(&mut self) -> bool {
        let step = u64::from(POINTS.shadow.generation()) << 40 | world().step.get();
        if self.step != step {
            self.step = step;
            self.hits = 0;
        }
        let stops = PROBES.stops.get();
        if self.hits >= TIRES_AFTER || stops >= ALL_TIRE_AFTER {
            return false;
        }
        self.hits += 1;
        PROBES.stops.set(stops + 1);
        true
    }
}

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

/// What was changed in the text at one place.
#[derive(Debug, Clone, Copy)]
struct Patch {
    address: u64,
    len: u32,
    /// Where its bytes are among those that were written.
    written: u32,
}

/// The probes of this process.
struct Probes {
    /// Ascending by address.
    probes: Kept<Probe>,
    functions: Kept<Function>,
    /// Where branches lead, ascending.
    targets: Kept<u64>,
    text: Cell<(u64, u64)>,
    /// The text as the program has it.
    pristine: Kept<u8>,
    area: RefCell<Option<Area>>,
    /// The instructions that have a copy, ascending by that.
    moved: Kept<Moved>,
    /// What was changed in the text, and the bytes that stand there instead, one after the other.
    patched: Kept<Patch>,
    written: Kept<u8>,
    /// What is set now: so many sites were known, and these were wanted.
    state: Cell<Option<(usize, Wanted)>>,
    /// Whether some were taken out in the execution that runs.
    tired: Cell<bool>,
    hits: Cell<u64>,
    /// Those of breakpoints.
    stops: Cell<u64>,
    /// What the watchdog was told last, and how often in a row.
    beats: Cell<(u64, u64)>,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Probes {}
static PROBES: Probes = Probes {
    probes: Kept::new(),
    functions: Kept::new(),
    targets: Kept::new(),
    text: Cell::new((0, 0)),
    pristine: Kept::new(),
    area: RefCell::new(None),
    moved: Kept::new(),
    patched: Kept::new(),
    written: Kept::new(),
    state: Cell::new(None),
    tired: Cell::new(false),
    hits: Cell::new(0),
    stops: Cell::new(0),
    beats: Cell::new((0, 0)),
};

/// Finds what there is to probe; whether there is anything.
pub(super) fn prepare() -> bool {
    let code = decode::program();
    let sight = &crate::channel::header().sight;
    sight.code.store(code.bytes, Relaxed);
    sight.covered.store(code.covered, Relaxed);
    sight.unseen.fetch_or(code.unseen, Relaxed);
    if code.sites.is_empty() {
        return false;
    }
    let len = code.sites.len();
    let (start, end) = code.text;
    // SAFETY: mapped and readable for as long as the program runs.
    let text = unsafe { std::slice::from_raw_parts(start as *const u8, (end - start) as usize) };
    let kept = PROBES.pristine.keep(text)
        && PROBES.functions.keep(&code.functions)
        && PROBES.targets.keep(&code.targets)
        && PROBES.moved.map(len * 6)
        && PROBES.patched.map(len)
        && PROBES.written.map(text.len())
        && PROBES.probes.map(len);
    let Some(area) = Area::map(code.text, len, heddle_probe_stub as *const () as u64) else {
        return false;
    };
    if !kept {
        return false;
    }
    *PROBES.area.borrow_mut() = Some(area);
    PROBES.text.set(code.text);
    for site in &code.sites {
        let nothing = Operand {
            base: NONE,
            index: NONE,
            scale: 1,
            displacement: 0,
            size: 0,
            measure: Measure::Element,
            reads: false,
            writes: false,
        };
        let mut operands = [nothing; OPERANDS];
        let count = site.operands.len().min(OPERANDS);
        operands[..count].copy_from_slice(&site.operands[..count]);
        let probe = Probe {
            address: site.address,
            behind: site.behind,
            copy: 0,
            operands,
            count: count as u8,
            atomic: site.atomic,
            repeats: site.repeats,
            string: site.string,
            stack: site.stack,
            breakpoint: false,
            known: false,
            hits: 0,
            step: 0,
        };
        PROBES.probes.push(probe);
    }
    true
}

/// Memory of the runtime's own.
pub(super) fn ranges() -> [(u64, u64); 8] {
    [
        PROBES.probes.range(),
        PROBES.functions.range(),
        PROBES.targets.range(),
        PROBES.pristine.range(),
        PROBES.moved.range(),
        PROBES.patched.range(),
        PROBES.written.range(),
        PROBES.area.borrow().as_ref().map_or((0, 0), Area::range),
    ]
}

/// The number of the probe at an address.
fn find(address: u64) -> Option<usize> {
    PROBES.probes.all().binary_search_by_key(&address, |probe| probe.address).ok()
}

/// See [`super::libraries`].
pub(super) fn libraries() -> u64 {
    let mut hasher = DefaultHasher::new();
    for library in image::Image::own().iter().skip(1) {
        library.identity().hash(&mut hasher);
    }
    hasher.finish()
}

/// How often probes were come to in this execution.
pub(super) fn hits() -> u64 {
    PROBES.hits.get()
}

/// Whether this process has probes.
pub(super) fn are_there() -> bool {
    !PROBES.probes.all().is_empty()
}

/// Tells a debugger of the probes that are set, so that it can hide them. Under one every probe is a
/// breakpoint: it knows of no other.
pub(crate) fn show(debug: &traces::wire::Debug) {
    use std::sync::atomic::Ordering::Relaxed;
    let set = || PROBES.probes.all().iter().filter(|probe| probe.copy != 0);
    let pristine = |address: u64| PROBES.pristine.all()[(address - PROBES.text.get().0) as usize];
    let (count, size) = (set().count(), size_of::<traces::wire::Probe>());
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    if count == 0 {
        return;
    }
    let Some(table) = raw::map(0, count * size, prot, libc::MAP_NORESERVE) else {
        crate::channel::fail("no memory for the table of probes")
    };
    for (at, probe) in set().enumerate() {
        let shown = traces::wire::Probe {
            address: probe.address,
            behind: probe.behind,
            copy: probe.copy,
            original: u64::from(pristine(probe.address)),
        };
        // SAFETY: within the table, which is large enough.
        unsafe { (table as *mut traces::wire::Probe).add(at).write(shown) };
    }
    debug.probes.store(table as u64, Relaxed);
    debug.probes_len.store(count as u64, Relaxed);
    let (start, end) = PROBES.area.borrow().as_ref().map_or((0, 0), Area::range);
    debug.copies.store(start, Relaxed);
    debug.copies_len.store(end - start, Relaxed);
}

/// Sets the probes that are wanted in the execution that begins, and no others.
pub(super) fn refresh(wanted: Wanted, known: usize) {
    if !are_there() {
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
            patch::with_text(PROBES.text.get(), put_in);
        }
        return;
    }
    let is_wanted = |probe: &Probe| match wanted {
        Wanted::Learned => learned::is_site(probe.behind),
        Wanted::All => !probe.stack,
        Wanted::WithStacks => true,
    };
    let mut area = PROBES.area.borrow_mut();
    let opened = area.as_mut().filter(|area| area.open(true));
    let done = opened.is_some_and(|area| {
        area.clear();
        let set = || {
            restore();
            let mut probes = PROBES.probes.all();
            for function in PROBES.functions.all() {
                let len = probes.iter().take_while(|probe| probe.address < function.end).count();
                let (here, rest) = probes.split_at_mut(len);
                let first = PROBES.probes.all().len() - rest.len() - len;
                set_in(area, function, here, first, is_wanted);
                probes = rest;
            }
        };
        patch::with_text(PROBES.text.get(), set) && area.open(false) && note_written()
    });
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

/// Puts all probes in again that were taken out. The text is writable.
fn put_in() {
    for patch in PROBES.patched.all() {
        let from = patch.written as usize;
        patch::restore(patch.address, &PROBES.written.all()[from..from + patch.len as usize]);
    }
}

/// Puts the program's own bytes back where the text was changed. The text is writable.
fn put_back(patch: &Patch) {
    let at = (patch.address - PROBES.text.get().0) as usize;
    patch::restore(patch.address, &PROBES.pristine.all()[at..at + patch.len as usize]);
}

/// Puts the text back as the program has it.
fn restore() {
    PROBES.patched.all().iter().for_each(put_back);
    PROBES.patched.clear();
    PROBES.moved.clear();
    PROBES.probes.all().iter_mut().for_each(|probe| probe.copy = 0);
}

/// Sets the probes of one function that are wanted; `first` is the number of the first of `probes`. The
/// text and the area are writable.
fn set_in(
    area: &mut Area,
    function: &Function,
    probes: &mut [Probe],
    first: usize,
    is_wanted: impl Fn(&Probe) -> bool,
) {
    if !probes.iter().any(&is_wanted) {
        return;
    }
    let (start, _) = PROBES.text.get();
    let offset = |address: u64| (address - start) as usize;
    let code = &PROBES.pristine.all()[offset(function.start)..offset(function.end)];
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
            super::out_of_sight(Unseen::Undecoded);
            continue;
        };
        PROBES.moved.push(moved[0]);
        PROBES.patched.push(Patch { address: steps[at].address, len: 1, written: 0 });
        (probes[found].copy, probes[found].breakpoint) = (moved[0].copy, true);
        patch::breakpoint(steps[at].address);
    }
}

/// Takes probes out until the execution is over.
fn tire(which: impl Fn(u64) -> bool) {
    let tired = &crate::channel::header().sight.tired;
    if !PROBES.tired.get() {
        tired.store(tired.load(Relaxed) + 1, Relaxed);
    }
    take_out(which);
}

fn take_out(which: impl Fn(u64) -> bool) {
    PROBES.tired.set(true);
    patch::with_text(PROBES.text.get(), || {
        // What moved keeps its copy: somebody may be in there.
        PROBES.patched.all().iter().filter(|patch| which(patch.address)).for_each(put_back);
    });
}

/// Takes all probes out until the execution is over: what comes is not the program's business.
pub(super) fn rest() {
    if are_there() {
        take_out(|_| true);
    }
}

/// The program is about to change these bytes, or whether they may be changed; whether they are its own
/// code, which is then left to it.
pub(super) fn about_to_change(start: u64, len: u64) -> bool {
    let (low, high) = PROBES.text.get();
    let is_code = are_there() && start < high && low < start.saturating_add(len);
    if is_code {
        super::out_of_sight(Unseen::Changed);
        take_out(|_| true);
    }
    is_code
}

/// Whether a descriptor is of a file that is no library of the system's.
pub(super) fn is_own_file(descriptor: i32) -> bool {
    let mut name = *b"/proc/self/fd/..........\0";
    let mut digits = descriptor.max(0) as u32;
    for digit in name[14..24].iter_mut().rev() {
        *digit = b'0' + (digits % 10) as u8;
        digits /= 10;
    }
    // Numbers there have no zeros in front.
    let zeros = name[14..23].iter().take_while(|&&digit| digit == b'0').count();
    name.copy_within(14 + zeros.., 14);
    let mut path = [0u8; 256];
    // SAFETY: the name ends in a zero byte, and the buffer is as long as is said.
    let len =
        unsafe { raw::call!(libc::SYS_readlink, name.as_ptr(), path.as_mut_ptr(), path.len()) };
    let path = &path[..len.clamp(0, 256) as usize];
    !image::SYSTEM.iter().any(|system| path.starts_with(system.as_bytes()))
}

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
    let area = PROBES.area.borrow().as_ref().map_or((0, 0), Area::range);
    if !(area.0..area.1).contains(&address) {
        return None;
    }
    let moved = PROBES.moved.all();
    let behind = moved.partition_point(|moved| moved.entry <= address);
    let found = moved[..behind].last()?.original;
    tire(|_| true);
    Some(found)
}

/// A task came to a probe: where it goes on, if the stretch that it is in did the same before. What is
/// called here must leave the vector registers alone but for the low halves of the first sixteen.
extern "C" fn heddle_probe_seen(registers: &Registers) -> u64 {
    let probe = &mut PROBES.probes.all()[registers.probe as usize];
    if is_alone() {
        return probe.copy;
    }
    let hits = PROBES.hits.get() + 1;
    let budget = POINTS.budget.get();
    let simple = probe.count == 1
        && !(probe.repeats || probe.atomic)
        && probe.operands[0].measure == Measure::Element;
    if !simple
        || hits.is_multiple_of(BEAT)
        || POINTS.all.get()
        || probe.counts() && (POINTS.suspect.get() || budget <= COST)
    {
        return 0;
    }
    let operand = &probe.operands[0];
    let address = address(operand, registers);
    let mask = ((1u32 << operand.size.min(9)) - 1) << (address & 7);
    if mask > 0xff || operand.size > 8 {
        return 0;
    }
    let mask = mask as u8;
    let Some(word) = POINTS.shadow.word(address) else { return 0 };
    let stamp = POINTS.stamp.get();
    let wrote = word.write_stamp == stamp && word.write_mask & mask == mask;
    let read = word.read_stamp == stamp && word.read_mask & mask == mask;
    if word.hot || word.synchronises != 0 || !(wrote || read && !operand.writes) {
        return 0;
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

/// Tells the watchdog that something moves, unless nothing else has for long.
fn beat() {
    let (last, count) = PROBES.beats.get();
    let count = if crate::manager::beats() == last { count + 1 } else { 0 };
    if count < BEATS {
        crate::manager::beat();
    } else if count == BEATS {
        tire(|_| true);
    }
    PROBES.beats.set((crate::manager::beats(), count));
}

/// Whether the runtime is perhaps about to serve a probe here, or has just served one.
pub(crate) fn may_serve(address: u64) -> bool {
    let (text, len) = crate::entry::own_text();
    are_there() && (text..text + len).contains(&address)
}

/// The same in any case.
extern "C-unwind" fn heddle_probe(registers: &mut Registers) -> u64 {
    let probe = &mut PROBES.probes.all()[registers.probe as usize];
    if probe.breakpoint && !probe.is_bearable() {
        let address = probe.address;
        let all = PROBES.stops.get() >= ALL_TIRE_AFTER;
        tire(|one| all || one == address);
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
        super::out_of_sight(Unseen::Forms);
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
        // Nothing is that near to zero: the program is about to fail, and is to do so by itself.
        Measure::String(number) if registers.general[usize::from(number)] < 4096 => Some(0),
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
                super::arrive(&access, Operation::Update);
            } else if probe.counts() {
                // A lock may be waited for by trying to take it again and again.
                super::watch_for_waiting(&access);
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
        cell.synchronises |= mask;
    }
    if cell.synchronises & mask == 0 && !cell.hot {
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
