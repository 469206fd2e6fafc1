//! A task reaches a probe: its access is monitored, and may be a scheduling point.

use crate::detect::access::{POINTS, is_awake, note_gap, note_stack, peek};
use crate::detect::shadow::Word;
use crate::detect::slot::bytes_within;
use crate::instrument::binary::bulk::{self, Caller};
use crate::instrument::binary::bulk_functions::Bulk;
use crate::instrument::binary::calls;
use crate::instrument::binary::effective_address::{address, word_at};
use crate::instrument::binary::extents::several;
use crate::instrument::binary::file_changes;
use crate::instrument::binary::hidden_state;
use crate::instrument::binary::hot_probes;
use crate::instrument::binary::lanes;
use crate::instrument::binary::lock_sites::{Exchange, LockPart};
use crate::instrument::binary::open_files;
use crate::instrument::binary::operand::{LOWEST, Measure, NONE, Operand, Parts, Target, When};
use crate::instrument::binary::probe::{PROBES, Probe, are_any, find};
use crate::instrument::binary::removal::Removal;
use crate::instrument::binary::rust_library::LibraryPart;
use crate::instrument::binary::snooze;
use crate::instrument::binary::spin_reads;
use crate::instrument::binary::string_instructions;
use crate::instrument::binary::stub::{
    BELOW, Registers, heddle_probe_back, heddle_probe_stub, heddle_return,
};
use crate::instrument::binary::targets;
use crate::instrument::binary::touch::touch;
use crate::instrument::binary::variable_arguments::{Arguments, wide_length};
use crate::instrument::binary::word_locks;
use crate::instrument::reuse;
use crate::schedule::predicates;
use crate::state::world::world;
use crate::sys::channel;
use crate::sys::vector_state::VectorState;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::InstrumentationGap;

/// After this many hits of probes, progress is reported to the watchdog.
const BEAT: u64 = 1024;
/// After this many reports without a step, all probes are removed, and no more progress is
/// reported: the watchdog decides, with the program at its own speed.
const BEATS: u64 = 1 << 13;
/// The same once a task had to be interrupted: the same loop may be in every execution.
const BEATS_AGAIN: u64 = 1 << 10;

/// How many accesses a hit of a probe counts for when a task is suspected of waiting, as it takes
/// that much longer. The probe must not be removed before.
const COST: u32 = 16;

/// The longest access, in bytes, for which the fast path is tried.
const LONGEST: u64 = 64;

/// Whether the running task cannot conflict with another, or is not monitored.
fn is_alone() -> bool {
    // While there is one task only, all that it does happens before what tasks created later do.
    !is_awake() || world().created.get() == 1 && !POINTS.all.get()
}

/// Handles a breakpoint: if it is a probe, its task continues in the stub. The signal handler calls
/// this.
pub(crate) fn on_breakpoint(context: &mut libc::ucontext_t) -> bool {
    let registers = &mut context.uc_mcontext.gregs;
    let address = registers[libc::REG_RIP as usize] as u64 - 1;
    let Some((number, probe)) =
        find(address).filter(|(_, probe)| probe.copy.get() != 0 && probe.breakpoint.get())
    else {
        // A moved instruction, to which no branch should have led.
        let mut all = PROBES.modules().flat_map(|module| module.moved.all());
        let Some(moved) = all.find(|moved| moved.original == address) else { return false };
        registers[libc::REG_RIP as usize] = moved.entry as i64;
        return true;
    };
    // What the call of a function with lasting effects does is for the stub to see.
    if is_alone() && probe.lasting.is_none() && !probe.predicate {
        registers[libc::REG_RIP as usize] = probe.copy.get() as i64;
        if hot_probes::is_too_frequent_alone() {
            hot_probes::remove_while_alone();
        }
        return true;
    }
    let sp = registers[libc::REG_RSP as usize] as u64 - BELOW;
    // SAFETY: the task was interrupted at its own instruction, so its stack below the red zone is
    // unused, and mapped as far as the program may push.
    unsafe {
        let back = heddle_probe_back as *const () as u64;
        *(sp as *mut [u64; 3]) = [back, number as u64, address];
    }
    registers[libc::REG_RSP as usize] = sp as i64;
    registers[libc::REG_RIP as usize] = heddle_probe_stub as *const () as i64;
    true
}

/// The original address of an instruction whose copy faulted. The program may continue there, so
/// all probes are removed until the execution ends.
pub(crate) fn original(address: u64) -> Option<u64> {
    let moved = PROBES.modules().find(|module| module.has_copy(address))?.moved.all();
    let behind = moved.partition_point(|moved| moved.entry <= address);
    let found = moved[..behind].last()?.original;
    hot_probes::remove_reported(Removal::All);
    Some(found)
}

/// The fast path of a probe: the address to continue at if the access needs no scheduling point and
/// conflicts with nothing, else 0. Functions called here must preserve the vector registers, except
/// for the low halves of the first sixteen.
pub(super) extern "C" fn heddle_probe_seen(registers: &Registers) -> u64 {
    // SAFETY: the copy of the instruction pushed the number of its probe.
    let probe = unsafe { PROBES.probe(registers.probe) };
    let is_reported_call =
        probe.count == 0 && probe.unknown_call != 0 && calls::is_known(probe.unknown_call);
    if probe.predicate {
        return 0;
    }
    if is_alone() && !probe.has_lasting_effects(registers) {
        return if hot_probes::is_too_frequent_alone() { 0 } else { probe.copy.get() };
    }
    if probe.is_always_needed() {
        return 0;
    }
    if is_reported_call || repeats_read(probe, registers) {
        return probe.copy.get();
    }
    let hits = PROBES.hits.get() + 1;
    let budget = POINTS.budget.get();
    if probe.count == 0 && probe.target == Target::Fixed
        || !calls::is_known(probe.unknown_call)
        || probe.repeats
        || probe.atomic
        || !probe.further.is_empty()
        || hits.is_multiple_of(BEAT)
        || POINTS.all.get()
        || POINTS.watched.get()
        || probe.counts() && (POINTS.suspect.get() || budget <= COST)
    {
        return 0;
    }
    for operand in &probe.operands[..usize::from(probe.count)] {
        let size = match operand.measure {
            Measure::Element | Measure::Unprotected { excludes: false } => operand.size,
            Measure::Register(number) => registers.general[usize::from(number)],
            Measure::String(number) => match short_text(registers.general[usize::from(number)]) {
                Some(size) => size,
                None => return 0,
            },
            Measure::Hidden { .. } | Measure::HiddenKnown if hidden_state::is_unused() => continue,
            _ => return 0,
        };
        if operand.pointed || operand.when != When::Always || operand.parts != Parts::One {
            return 0;
        }
        if !goes_unnoticed(operand, (address(operand, &registers.general), size), probe.behind) {
            return 0;
        }
    }
    if probe.breakpoint.get() && !probe.is_bearable() {
        return 0;
    }
    if let Some(target) = target_of(probe, registers)
        && !targets::is_harmless(target)
    {
        return 0;
    }
    PROBES.hits.set(hits);
    probe.count_run();
    if probe.counts() {
        POINTS.budget.set(budget - COST);
    }
    probe.copy.get()
}

/// Whether an access is no scheduling point, orders nothing, and conflicts with no earlier one.
/// Then it is stored, and there is nothing more to do.
#[inline]
fn goes_unnoticed(operand: &Operand, (address, size): (u64, u64), site: u64) -> bool {
    let end = address.wrapping_add(size);
    if size == 0 || size > LONGEST || end < address {
        return size == 0;
    }
    let words = || (address & !7..end).step_by(8);
    let is_quiet = |word: &Word| {
        !word.may_be_hot() && !word.may_be_freed() && word.synchronises(&POINTS.clocks) == 0
    };
    // Nothing is stored for a scheduling point yet: other tasks may run first.
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

/// The length of a C string including the zero, if it is short. (A `strlen` would use the vector
/// registers.)
fn short_text(address: u64) -> Option<u64> {
    if address < LOWEST {
        return None;
    }
    // SAFETY: the program is about to read the same bytes, up to the zero; if they are not mapped,
    // this faults as its own read would.
    (0..LONGEST).find(|&at| unsafe { *((address + at) as *const u8) } == 0).map(|at| at + 1)
}

/// Stores an access that conflicts with no earlier one; false if more than that is needed.
#[inline]
fn keep(word: &Word, operand: &Operand, address: u64, mask: u8, site: u64) -> bool {
    let Some(viewer) = POINTS.quick.get() else { return false };
    let now = POINTS.now.get();
    // Whether the address is on another task's stack is checked the first time only.
    if !word.is_own(now, mask, operand.writes, viewer) {
        note_stack(address);
    }
    let keep = |writes| word.store_plain(now, mask, writes, site, viewer).is_some();
    (!operand.reads || keep(false)) && (!operand.writes || keep(true))
}

/// Reports progress to the watchdog, unless only probes were reached for long.
fn beat() {
    let (last, count) = PROBES.beats.get();
    let count = if channel::beats() == last { count + 1 } else { 0 };
    let most = match channel::header().interrupted.load(Relaxed) {
        0 => BEATS,
        _ => BEATS_AGAIN,
    };
    if count < most {
        channel::beat();
    } else {
        hot_probes::remove_reported(Removal::All);
    }
    PROBES.beats.set((channel::beats(), count));
}

/// Whether the runtime may be about to serve a probe at this address, or has just served one.
pub(crate) fn may_serve(address: u64) -> bool {
    let (text, len) = crate::sys::own_image::text();
    are_any() && (text..text + len).contains(&address)
}

/// The general path of a probe. The vector registers are saved at `vectors`.
pub(super) extern "C-unwind" fn heddle_probe(registers: &mut Registers, vectors: *mut u8) -> u64 {
    // SAFETY: the copy of the instruction pushed the number of its probe.
    let probe = unsafe { PROBES.probe(registers.probe) };
    if probe.predicate {
        let task = world().task();
        task.probed.set(&raw const *registers as u64);
        // A task that is alone may execute the two halves of an instruction at once.
        predicates::arrive(probe.address, probe.behind, probe.is_split() && !is_alone());
        task.probed.set(0);
        if !probe.observes || is_alone() && !probe.has_lasting_effects(registers) {
            return probe.copy.get();
        }
    }
    if is_alone() && !probe.has_lasting_effects(registers) {
        hot_probes::remove_while_alone();
        return probe.copy.get();
    }
    hot_probes::count_hit(probe);
    if PROBES.hits.get().is_multiple_of(BEAT) {
        hot_probes::remove_frequent(probe);
        beat();
    }
    crate::state::overdue::act_if_due(probe.behind);
    // The copy is on the task's stack while it is parked, where nothing may differ between two
    // iterations of a loop (`crate::schedule::stall`).
    let probe = Probe { counts: hot_probes::Counts::default(), ..probe.clone() };
    if let Some(done) = library(&probe, registers) {
        return done;
    }
    if probe.unknown_call != 0 && probe.has_unknown_effects(registers) {
        calls::report(probe.unknown_call, probe.behind);
    } else if probe.count == 0 && probe.target == Target::Fixed {
        note_gap(InstrumentationGap::Forms);
    }
    if probe.counts() {
        POINTS.budget.set(POINTS.budget.get().saturating_sub(COST));
    }
    let task = world().task();
    task.probed.set(&raw const *registers as u64);
    if probe.atomic {
        // What a compare-and-swap expects is in rax.
        reuse::expected(registers.general[0], probe.behind);
    }
    let caller = Caller { site: probe.behind, is_compiled: false };
    let own = probe.operands[..usize::from(probe.count)].iter().chain(probe.further);
    let is_first = comes_first(probe.bulk);
    for operand in own.clone().filter(|it| is_first(it)) {
        touch_all(&probe, operand, registers);
    }
    let stack = arguments(&probe, registers).stack;
    // SAFETY: the stub's `xsave` stored all components there, and nothing else refers to them during the call.
    let low_half = |number: u8| unsafe { VectorState::new(vectors) }.element(number, 0, 8);
    let call = &mut bulk::Call {
        general: &mut registers.general,
        flags: &mut registers.flags,
        stack,
        vectors: &low_half,
    };
    if let Some(done) = bulk::in_pieces(probe.bulk, caller, call) {
        return continue_behind(&probe, registers, done);
    }
    for operand in own.clone().filter(|it| !is_first(it) && !it.is_joined) {
        if let Measure::Lanes(lanes) = &operand.measure {
            // SAFETY: the stub's `xsave` stored all components there, and it restores them from there when
            // this call returns.
            let mut state = unsafe { VectorState::new(vectors) };
            let start = address(operand, &registers.general);
            if lanes.index.is_some() {
                lanes::each(probe.behind, operand, lanes, start, &mut state);
            } else if let Some((first, size)) = lanes::extent(lanes, operand.size, start, &state) {
                touch(&probe, operand, first, size);
            }
        } else {
            touch_all(&probe, operand, registers);
        }
    }
    change_files(&probe, own, registers);
    let target = target_of(&probe, registers);
    if let Some(called) = target.and_then(|target| targets::effects(target, probe.behind)) {
        let is_first = comes_first(called.bulk);
        for operand in called.operands.iter().filter(|it| is_first(it)) {
            touch_all(&probe, operand, registers);
        }
        let (general, flags) = (&mut registers.general, &mut registers.flags);
        let call = &mut bulk::Call { general, flags, stack, vectors: &low_half };
        if let Some(done) = bulk::in_pieces(called.bulk, caller, call) {
            return continue_behind(&probe, registers, done);
        }
        for operand in called.operands.iter().filter(|it| !is_first(it) && !it.is_joined) {
            touch_all(&probe, operand, registers);
        }
        change_files(&probe, called.operands.iter(), registers);
    }
    task.probed.set(0);
    if probe.spin != 0 {
        spin_reads::note(registers.probe, &registers.general);
    }
    hidden_state::begun();
    probe.copy.get()
}

/// The last step of a call that changes which files are open.
fn change_files<'a>(
    probe: &Probe,
    operands: impl Iterator<Item = &'a Operand> + Clone,
    registers: &Registers,
) {
    let joined = operands.filter(|it| it.is_joined);
    file_changes::change(joined, &arguments(probe, registers), |operand, address, size| {
        touch(probe, operand, address, size);
    });
}

/// What is done here at an instruction of Rust's standard library: where the program continues.
fn library(probe: &Probe, registers: &mut Registers) -> Option<u64> {
    if probe.library == LibraryPart::None && probe.exchange == Exchange::None {
        return None;
    }
    let task = world().task();
    task.probed.set(&raw const *registers as u64);
    let general = &registers.general;
    match probe.library {
        LibraryPart::Lock(LockPart::Wait) => {
            word_locks::wait(probe.behind, general);
            return Some(continue_behind(probe, registers, bulk::Done::Call));
        }
        LibraryPart::Lock(LockPart::Call) => word_locks::calls(probe.behind, general),
        LibraryPart::Snooze { yields } => {
            if snooze::waits(probe.behind, general, yields) {
                return Some(continue_behind(probe, registers, bulk::Done::Call));
            }
        }
        LibraryPart::Counts(counters) => snooze::compares(counters, &mut registers.general),
        LibraryPart::None | LibraryPart::Lock(LockPart::Exchange) => {
            let word = (address(&probe.operands[0], general), probe.behind);
            let kind = (probe.exchange, probe.library);
            if !word_locks::exchanges(kind, word, general, probe.counts()) {
                return None;
            }
            hidden_state::begun();
        }
    }
    task.probed.set(0);
    Some(probe.copy.get())
}

/// Whether an access is one more read of a loop that counts them.
fn repeats_read(probe: &Probe, registers: &Registers) -> bool {
    let spin = (probe.spin as usize).checked_sub(1).map(|at| &PROBES.spins.all()[at]);
    spin.is_some_and(|spin| spin_reads::is_repeated(registers.probe, spin, &registers.general))
}

/// Whether an operand of a call comes before what is made in pieces: state of the library.
fn comes_first(bulk: Bulk) -> impl Fn(&Operand) -> bool {
    move |operand| bulk != Bulk::None && operand.is_library_state()
}

/// Where the program continues behind what was made here.
fn continue_behind(probe: &Probe, registers: &mut Registers, done: bulk::Done) -> u64 {
    world().task().probed.set(0);
    registers.continue_at_result();
    match done {
        // The copy of the instruction is as long as the instruction itself.
        bulk::Done::Instruction => probe.copy.get() + (probe.behind - probe.address),
        bulk::Done::Call if probe.jumps => heddle_return as *const () as u64,
        bulk::Done::Call => probe.behind,
    }
}

/// All that an operand leads to.
fn touch_all(probe: &Probe, operand: &Operand, registers: &Registers) {
    let each = &mut |address, size| touch(probe, operand, address, size);
    if !several(operand, &arguments(probe, registers), each)
        && let Some((address, size)) = extent(probe, operand, registers)
    {
        touch(probe, operand, address, size);
    }
}

/// The arguments of a call that is about to be made. A tail call jumps with its return address on the stack.
fn arguments<'call>(probe: &Probe, registers: &'call Registers) -> Arguments<'call> {
    const RSP: usize = 4;
    let general = &registers.general;
    let stack = general[RSP] + if probe.jumps { 8 } else { 0 };
    Arguments { general, stack, site: probe.behind }
}

impl Probe {
    /// Whether the call of a function with unknown effects has them with these arguments.
    fn has_unknown_effects(&self, registers: &Registers) -> bool {
        self.lasting.is_none_or(|lasting| lasting.applies(&registers.general, open_files::is_file))
    }

    /// Whether the instruction is not atomic, and executes as a read and a write of the same bytes.
    fn is_split(&self) -> bool {
        let own = &self.operands[..usize::from(self.count)];
        let is_both = |it: &Operand| it.reads && it.writes && it.size <= 8 && !it.pointed;
        !self.atomic && own.iter().any(|it| is_both(it) && it.measure == Measure::Element)
    }

    /// Whether the call has effects, not reported yet, that count also before there are tasks.
    fn has_lasting_effects(&self, registers: &Registers) -> bool {
        self.lasting.is_some()
            && self.has_unknown_effects(registers)
            && !calls::is_known(self.unknown_call)
    }
}

/// Where a call or jump is about to lead, unless that is fixed.
fn target_of(probe: &Probe, registers: &Registers) -> Option<u64> {
    match probe.target {
        Target::Fixed => None,
        Target::Register(number) => Some(registers.general[usize::from(number & 15)]),
        Target::Memory => {
            let place = address(&probe.operands[0], &registers.general);
            (probe.count > 0 && place >= LOWEST).then(|| peek(place, 8))
        }
    }
}

/// The address and the length of an operand.
fn extent(probe: &Probe, operand: &Operand, registers: &Registers) -> Option<(u64, u64)> {
    if operand.measure != Measure::Element || !probe.repeats || !probe.string {
        return argument_extent(operand, &registers.general);
    }
    let operands = &probe.operands[..usize::from(probe.count)];
    string_instructions::extent(
        operand,
        (operands, probe.search),
        &registers.general,
        registers.flags,
    )
}

/// The address and the length of an operand that is accessed once, by the general registers.
pub(super) fn argument_extent(operand: &Operand, general: &[u64; 16]) -> Option<(u64, u64)> {
    if !operand.when.holds(general) {
        return None;
    }
    let address = address(operand, general);
    let register = |number: u8| general[usize::from(number)];
    let is_argument = operand.base != NONE;
    let count = match operand.measure {
        // An optional argument that is not given, or the program is about to fault.
        Measure::Element | Measure::Register(_) | Measure::Elements(_) | Measure::PointedInt(_)
            if is_argument && address < LOWEST =>
        {
            0
        }
        Measure::Element => operand.size,
        Measure::Lanes(_) => return None,
        Measure::Table(number) => return Some((address.wrapping_add(register(number) & 0xff), 1)),
        Measure::Bits(number) => {
            return Some((bit_element(operand, address, register(number)), operand.size));
        }
        Measure::Product(one, other) => register(one).saturating_mul(register(other)),
        Measure::Elements(number) => register(number).saturating_mul(operand.size),
        // No memory yet: the function allocates it.
        Measure::Pointed(_) if address < LOWEST => 0,
        Measure::Pointed(number) => word_at(register(number)),
        Measure::PointedInt(number) => word_at(register(number)) & 0xffff_ffff,
        Measure::Buffers(_)
        | Measure::Message
        | Measure::Messages(_)
        | Measure::Texts(_)
        | Measure::Options
        | Measure::OptionFlags
        | Measure::Format { .. }
        | Measure::Scan { .. }
        | Measure::Printed { .. }
        | Measure::Appended { .. }
        | Measure::Continued
        | Measure::Block
        | Measure::Segment
        | Measure::Number
        | Measure::StreamUse { .. }
        | Measure::Stream
        | Measure::StandardStream
        | Measure::Descriptor(_)
        | Measure::Taken { .. }
        | Measure::Given(_)
        | Measure::Closed(_)
        | Measure::Key(_)
        | Measure::Descriptors
        | Measure::Path
        | Measure::Ends
        | Measure::Slot(_)
        | Measure::OwnName
        | Measure::TokenPosition
        | Measure::Unprotected { .. }
        | Measure::AllStreams
        | Measure::Hidden { .. }
        | Measure::HiddenKnown
        | Measure::Environment => return None,
        Measure::PointedProduct { count, size, more } => {
            word_at(register(count)).saturating_add(more.into()).saturating_mul(register(size))
        }
        Measure::Longer(number, more) => register(number).saturating_add(more.into()),
        Measure::Until(text, byte, most) => until(register(text), register(byte), register(most)),
        // A string to which the operand's pointer leads.
        Measure::String(number) if operand.pointed && number == operand.base => text_at(address),
        Measure::WideString(number) if operand.pointed && number == operand.base => {
            wide_length(address, u64::MAX)
        }
        Measure::WideString(number) => wide_length(register(number), u64::MAX),
        Measure::BoundedWideString(number, most) => wide_length(register(number), register(most)),
        Measure::BoundedString(base, most) if register(base) < LOWEST || register(most) == 0 => 0,
        Measure::BoundedString(base, most) => {
            let text = register(base) as *const std::ffi::c_char;
            // SAFETY: as in `short_text`, and no more than the program is about to read.
            let length = unsafe { libc::strnlen(text, register(most) as usize) } as u64;
            (length + 1).min(register(most))
        }
        Measure::Register(number) => register(number),
        // For a null pointer the program is about to fault, and must do so itself.
        Measure::String(number) => text_at(register(number)),
        Measure::Compared { other, most, folds } => {
            until_they_differ(address, register(other), most.map_or(u64::MAX, register), folds)
        }
    };
    (count > 0).then_some((address, count))
}

/// The length of a C string that the program is about to read, including the zero; 0 for a null pointer.
fn text_at(address: u64) -> u64 {
    if address < LOWEST {
        return 0;
    }
    // SAFETY: as in `short_text`.
    unsafe { libc::strlen(address as *const std::ffi::c_char) as u64 + 1 }
}

/// How many bytes of two C strings, of at most `most` bytes, are compared until their order is known.
fn until_they_differ(one: u64, other: u64, most: u64, folds: bool) -> u64 {
    if one < LOWEST || other < LOWEST {
        return 0;
    }
    let folded = |byte: u64| match folds {
        // SAFETY: `tolower` reads the locale's table at a byte's value.
        true => unsafe { libc::tolower(byte as i32) },
        false => byte as i32,
    };
    let ends = |&at: &u64| {
        let (a, b) = (peek(one + at, 1), peek(other + at, 1));
        a == 0 || folded(a) != folded(b)
    };
    (0..most).find(ends).map_or(most, |at| at + 1)
}

/// How many bytes there are at an address up to and with the first that is equal to `byte`, at most `most`.
fn until(address: u64, byte: u64, most: u64) -> u64 {
    if address < LOWEST {
        return 0;
    }
    (0..most).find(|&at| peek(address + at, 1) == byte & 0xff).map_or(most, |at| at + 1)
}

/// The address of the element of a string of bits that has a bit. The number of the bit is signed and has
/// the size of an element.
fn bit_element(operand: &Operand, start: u64, bit: u64) -> u64 {
    let bit = match operand.size {
        2 => i64::from(bit as i16),
        4 => i64::from(bit as i32),
        _ => bit as i64,
    };
    let element = bit.div_euclid(8 * operand.size as i64);
    start.wrapping_add_signed(element * operand.size as i64)
}
