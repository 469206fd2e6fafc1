//! Scheduling points in a program as it is: breakpoints on its own instructions.
//!
//! While it is learned what conflicts they stand on every instruction that touches memory which another
//! task might touch ([`decode`]); in the search on those that conflicted. A task that comes to one goes
//! on in a stub ([`stub`]), where the access is looked at and may be a scheduling point; then a copy of
//! the instruction runs ([`patch`]).
//!
//! In x86-64 code a relaxed store, a releasing one and a plain one are one and the same instruction. So
//! what conflicts here is no race, and for the order of what follows it counts as an atomic: whoever
//! reads it knows what its writer did before.

mod decode;
mod image;
mod patch;
mod stub;

use super::{
    Access, POINTS, done, is_awake, is_point, learned, look, me, new_stretch, peek, visit,
};
use crate::raw;
use crate::world::world;
use decode::{NONE, Operand};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;
use stub::{BELOW, Registers, heddle_probe_stub};
use traces::Operation;
use traces::points::Unseen;

/// A probe that is come to so often without a step is taken out until the execution is over.
const TIRES_AFTER: u32 = 5_000;
/// After so many in one execution all are.
const ALL_TIRE_AFTER: u64 = 1_000_000;

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
    /// Where its copy lies; 0 before it was needed.
    copy: u64,
    operands: [Operand; OPERANDS],
    count: u8,
    atomic: bool,
    repeats: bool,
    string: bool,
    stack: bool,
    /// The first byte of the instruction.
    original: u8,
    /// Whether the breakpoint is set.
    set: bool,
    /// Whether no copy can be made of it.
    refused: bool,
    /// How often it was come to since this step.
    hits: u32,
    step: u64,
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

/// The probes of this process.
struct Probes {
    /// An array in private memory, ascending by address.
    base: Cell<u64>,
    len: Cell<usize>,
    text: Cell<(u64, u64)>,
    copies: RefCell<Option<patch::Copies>>,
    /// Where copies lie: `[start, end)`.
    area: Cell<(u64, u64)>,
    /// What is set now: so many sites were known, and these were wanted.
    state: Cell<Option<(usize, Wanted)>>,
    /// Whether some were taken out in the execution that runs.
    tired: Cell<bool>,
    hits: Cell<u64>,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Probes {}
static PROBES: Probes = Probes {
    base: Cell::new(0),
    len: Cell::new(0),
    text: Cell::new((0, 0)),
    copies: RefCell::new(None),
    area: Cell::new((0, 0)),
    state: Cell::new(None),
    tired: Cell::new(false),
    hits: Cell::new(0),
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
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let Some(base) = raw::map(0, len * size_of::<Probe>(), prot, libc::MAP_NORESERVE) else {
        return false;
    };
    let Some(copies) = patch::Copies::map(code.text, len) else { return false };
    PROBES.area.set(copies.range());
    *PROBES.copies.borrow_mut() = Some(copies);
    PROBES.base.set(base as u64);
    PROBES.len.set(len);
    PROBES.text.set(code.text);
    for (at, site) in code.sites.iter().enumerate() {
        let nothing = Operand {
            base: NONE,
            index: NONE,
            scale: 1,
            displacement: 0,
            size: 0,
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
            // SAFETY: the program's code.
            original: unsafe { *(site.address as *const u8) },
            set: false,
            refused: false,
            hits: 0,
            step: 0,
        };
        // SAFETY: within the array.
        unsafe { (base as *mut Probe).add(at).write(probe) };
    }
    true
}

/// Memory of the runtime's own.
pub(super) fn ranges() -> [(u64, u64); 2] {
    let base = PROBES.base.get();
    [(base, base + (PROBES.len.get() * size_of::<Probe>()) as u64), PROBES.area.get()]
}

#[allow(
    clippy::mut_from_ref,
    reason = "the array is private memory, and used by one kernel thread"
)]
fn all() -> &'static mut [Probe] {
    if PROBES.len.get() == 0 {
        return &mut [];
    }
    // SAFETY: made by `prepare`; nobody keeps a reference across a call that takes another.
    unsafe { std::slice::from_raw_parts_mut(PROBES.base.get() as *mut Probe, PROBES.len.get()) }
}

fn find(address: u64) -> Option<&'static mut Probe> {
    let all = all();
    let at = all.binary_search_by_key(&address, |probe| probe.address).ok()?;
    Some(&mut all[at])
}

/// Whether this process has probes.
pub(super) fn are_there() -> bool {
    PROBES.len.get() > 0
}

/// Tells a debugger of the probes that are set, so that it can hide them. Under one every probe is a
/// breakpoint: it knows of no other.
pub(crate) fn show(debug: &traces::wire::Debug) {
    use std::sync::atomic::Ordering::Relaxed;
    let set = || all().iter().filter(|probe| probe.set);
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
            original: u64::from(probe.original),
        };
        // SAFETY: within the table, which is large enough.
        unsafe { (table as *mut traces::wire::Probe).add(at).write(shown) };
    }
    debug.probes.store(table as u64, Relaxed);
    debug.probes_len.store(count as u64, Relaxed);
    let (start, end) = PROBES.area.get();
    debug.copies.store(start, Relaxed);
    debug.copies_len.store(end - start, Relaxed);
}

/// Sets the probes that are wanted in the execution that begins, and no others.
pub(super) fn refresh(wanted: Wanted, known: usize) {
    if !are_there() {
        return;
    }
    PROBES.hits.set(0);
    let state = Some((if wanted == Wanted::Learned { known } else { 0 }, wanted));
    if PROBES.state.get() == state && !PROBES.tired.get() {
        return;
    }
    PROBES.state.set(state);
    PROBES.tired.set(false);
    let is_wanted = |probe: &Probe| match wanted {
        Wanted::Learned => learned::is_site(probe.behind),
        Wanted::All => !probe.stack,
        Wanted::WithStacks => true,
    };
    make_copies(is_wanted);
    let done = patch::with_text(PROBES.text.get(), || {
        for probe in all() {
            let on = probe.copy != 0 && is_wanted(probe);
            if on != probe.set {
                probe.set = on;
                patch::set(probe.address, probe.original, on);
            }
        }
    });
    if !done {
        crate::channel::fail(
            "the system does not let the program's text be changed: use --points api",
        );
    }
}

/// Makes the copies that are missing.
fn make_copies(is_wanted: impl Fn(&Probe) -> bool) {
    let mut copies = PROBES.copies.borrow_mut();
    let Some(copies) = copies.as_mut() else { return };
    let missing = |probe: &&mut Probe| probe.copy == 0 && !probe.refused && is_wanted(probe);
    let mut missing = all().iter_mut().filter(missing).peekable();
    if missing.peek().is_none() || !copies.open(true) {
        return;
    }
    for probe in missing {
        let len = (probe.behind - probe.address) as usize;
        match copies.add(probe.address, len) {
            Some(copy) => probe.copy = copy,
            None => probe.refused = true,
        }
    }
    copies.open(false);
}

/// Takes probes out until the execution is over.
fn tire(which: impl Fn(&Probe) -> bool) {
    let tired = &crate::channel::header().sight.tired;
    if !PROBES.tired.get() {
        tired.store(tired.load(Relaxed) + 1, Relaxed);
    }
    take_out(which);
}

fn take_out(which: impl Fn(&Probe) -> bool) {
    PROBES.tired.set(true);
    patch::with_text(PROBES.text.get(), || {
        for probe in all().iter_mut().filter(|probe| probe.set && which(probe)) {
            probe.set = false;
            patch::set(probe.address, probe.original, false);
        }
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

/// A breakpoint was come to: if it is a probe, its task goes on in the stub. Called by the handler.
pub(crate) fn on_breakpoint(context: &mut libc::ucontext_t) -> bool {
    let registers = &mut context.uc_mcontext.gregs;
    let address = registers[libc::REG_RIP as usize] as u64 - 1;
    let Some(probe) = find(address).filter(|probe| probe.copy != 0) else { return false };
    // With one task there is nobody to conflict with: what it did comes before all that others do.
    let alone = world().created.get() == 1 && !POINTS.all.get();
    if !is_awake() || alone {
        registers[libc::REG_RIP as usize] = probe.copy as i64;
        return true;
    }
    let sp = registers[libc::REG_RSP as usize] as u64 - BELOW;
    // SAFETY: the task's stack below the red zone is free.
    unsafe { *(sp as *mut u64) = address };
    registers[libc::REG_RSP as usize] = sp as i64;
    registers[libc::REG_RIP as usize] = heddle_probe_stub as *const () as i64;
    true
}

/// The program's own address where a copy of its instruction faulted.
pub(crate) fn original(address: u64) -> Option<u64> {
    let (start, end) = PROBES.area.get();
    if !(start..end).contains(&address) {
        return None;
    }
    let copy = |probe: &&mut Probe| {
        probe.copy != 0 && (probe.copy..probe.copy + patch::COPY as u64).contains(&address)
    };
    all().iter_mut().find(copy).map(|probe| probe.address)
}

/// A task came to a probe: where it goes on.
extern "C-unwind" fn heddle_probe(registers: &mut Registers) -> u64 {
    let Some(probe) = find(registers.site) else {
        crate::channel::fail("a probe was come to that is none")
    };
    let step = u64::from(POINTS.shadow.generation()) << 40 | world().step.get();
    if probe.step != step {
        probe.step = step;
        probe.hits = 0;
    }
    probe.hits += 1;
    PROBES.hits.set(PROBES.hits.get() + 1);
    if probe.hits > TIRES_AFTER {
        let address = probe.address;
        tire(|probe| probe.address == address);
    }
    if PROBES.hits.get() == ALL_TIRE_AFTER {
        tire(|_| true);
    }
    if PROBES.hits.get().is_multiple_of(1024) {
        crate::manager::beat();
    }
    // It stays on the task's stack while that waits, where nothing may tell one time from another
    // (`crate::stall`).
    let probe = Probe { step: 0, hits: 0, ..*probe };
    if probe.count == 0 {
        super::out_of_sight(Unseen::Forms);
    }
    POINTS.budget.set(POINTS.budget.get().saturating_sub(COST));
    for operand in &probe.operands[..usize::from(probe.count)] {
        if let Some((address, size)) = extent(&probe, operand, registers) {
            touch(&probe, operand, address, size);
        }
    }
    probe.copy
}

/// Where an operand lies, and how far it goes.
fn extent(probe: &Probe, operand: &Operand, registers: &Registers) -> Option<(u64, u64)> {
    const DIRECTION: u64 = 1 << 10;
    const RCX: usize = 1;
    let register = |number: u8| match number {
        NONE => 0,
        number => registers.general[usize::from(number)],
    };
    let scaled = register(operand.index).wrapping_mul(u64::from(operand.scale));
    let address = register(operand.base).wrapping_add(scaled).wrapping_add(operand.displacement);
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
            }
            look(&access);
            synchronise(address, true, true, true);
            if is_point {
                done(&access);
            }
        }
        // Two steps, as between them another task may write: what was read stays read.
        (true, true) if size <= 8 => {
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
        (_, writes) => plain(&access(writes)),
    }
}

fn plain(access: &Access) {
    visit(*access);
    synchronise(access.address, !access.writes, access.writes, false);
}

/// What an access orders: an atomic read-modify-write, and anything else where there were such, or where
/// accesses conflict.
fn synchronise(address: u64, reads: bool, writes: bool, atomic: bool) {
    let word = address & !7;
    let Some(cell) = POINTS.shadow.word(word) else { return };
    cell.synchronises |= atomic;
    if !(cell.synchronises || cell.hot) {
        return;
    }
    if reads {
        POINTS.clocks.acquire(me(), word);
    }
    if writes {
        POINTS.clocks.release(me(), word);
    }
    new_stretch();
}
