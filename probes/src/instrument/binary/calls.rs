//! Calls out of the code that is instrumented, by the linker's entries for imported functions.
//!
//! What is called is one of: a function that the runtime models itself, instrumented code of another
//! module, a function of the [catalogue](super::catalogue), or unknown. An unknown function may access any
//! memory and any state; a call of it while two tasks exist is reported, and the search is not complete.
//! Calls through function pointers are covered by [targets](super::targets).

use crate::instrument::binary::bulk_functions::Bulk;
use crate::instrument::binary::catalogue::{Catalogue, Effects};
use crate::instrument::binary::image::{Image, Listed};
use crate::instrument::binary::{library_states, streams};
use iced_x86::{Code, Instruction};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::CStr;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use traces::wire::{OVERLAPPING_USE, UNKNOWN_CALLS};

/// How messages call the library of a function that the runtime models.
pub(super) const C_LIBRARY: &str = "the C library";

/// What a call site needs.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) effects: Effects,
    /// The index of the function among the unknown ones, plus one; 0 if all its effects are known.
    pub(super) unknown: u32,
    /// Whether it copies, fills or reads many bytes.
    pub(super) bulk: Bulk,
}

/// A function with unknown effects that instrumented code imports, or an instruction.
struct Unknown {
    address: u64,
    name: String,
    library: String,
    reported: bool,
}

/// The range of the entries through which compiler-instrumented modules call functions of others. Their addresses are
/// those of the functions for such modules, which may pass them on.
static ENTRIES: (AtomicU64, AtomicU64) = (AtomicU64::new(0), AtomicU64::new(0));

pub(super) fn set_entries(range: Range<u64>) {
    ENTRIES.0.store(range.start, Relaxed);
    ENTRIES.1.store(range.end, Relaxed);
}

/// Code in this range observes what the function does that it stands for.
pub(super) fn entries() -> Range<u64> {
    ENTRIES.0.load(Relaxed)..ENTRIES.1.load(Relaxed)
}

/// The unknown functions of this process.
struct Unknowns {
    all: RefCell<Vec<Unknown>>,
    /// Whether one of them was reported in this execution.
    reported: Cell<bool>,
}
// SAFETY: the controlled process has one kernel thread, and no function of this file holds a borrow while
// another runs.
unsafe impl Sync for Unknowns {}
static UNKNOWNS: Unknowns = Unknowns { all: RefCell::new(Vec::new()), reported: Cell::new(false) };

/// Determines what calls of one module lead to.
pub(super) struct Calls<'a> {
    catalogue: &'a Catalogue,
    /// All modules of the process, and whether each is instrumented.
    modules: &'a [(Image, bool)],
    /// The names of the imported functions, by the entry through which they are called.
    imports: HashMap<u64, &'static str>,
    /// The functions of the module itself.
    functions: &'a [Listed],
    /// What calls through an entry do, where that was determined.
    determined: RefCell<HashMap<u64, Option<(u64, Call)>>>,
}

impl<'a> Calls<'a> {
    pub(super) fn of(
        image: &Image,
        functions: &'a [Listed],
        catalogue: &'a Catalogue,
        modules: &'a [(Image, bool)],
    ) -> Calls<'a> {
        let imports = image
            .slots()
            .into_iter()
            .filter_map(|(name, slot)| Some((slot, name.to_str().ok()?)))
            .collect();
        Calls { catalogue, modules, imports, functions, determined: RefCell::default() }
    }

    /// The functions of the module itself.
    pub(super) fn functions(&self) -> &'a [Listed] {
        self.functions
    }

    /// The number of a function of a system library whose code could not be decoded: it is unknown, and
    /// reported when it is entered. None for the program's own code, which counts whether it is entered or
    /// not.
    pub(super) fn uncovered(&self, image: &Image, start: u64) -> Option<u32> {
        if image.is_own() {
            return None;
        }
        Some(number(start, &exported_name(start), image.file_name()))
    }

    /// The number of a kind of instruction whose accesses are not known; reported when one is reached.
    pub(super) fn form(&self, image: &Image, instruction: &Instruction) -> u32 {
        let mnemonic = format!("{:?}", instruction.mnemonic()).to_lowercase();
        let name = format!("{}{mnemonic}", traces::wire::UNKNOWN_INSTRUCTION);
        number(instruction.ip(), &name, image.file_name())
    }

    /// The number of a kind of instruction that reads the processor's clock; reported when one is reached.
    pub(super) fn clock(&self, image: &Image, instruction: &Instruction) -> u32 {
        let mnemonic = format!("{:?}", instruction.mnemonic()).to_lowercase();
        let name = format!("{}{mnemonic}", traces::wire::PROCESSOR_CLOCK);
        number(instruction.ip(), &name, image.file_name())
    }

    /// A call of code that is in no table of functions: what it does is unknown.
    fn unlisted(&self, image: &Image, target: u64) -> Option<Call> {
        let next = self.functions.partition_point(|function| function.start <= target);
        let is_listed = next > 0 && target < self.functions[next - 1].end;
        let unknown =
            (!is_listed).then(|| number(target, &exported_name(target), image.file_name()));
        unknown.map(|unknown| Call { effects: Effects::default(), unknown, bulk: Bulk::None })
    }

    /// What a call, or a jump that is a tail call, does beyond the instrumented code; none if nothing.
    pub(super) fn effects(&self, image: &Image, one: &Instruction) -> Option<Call> {
        let slot = match one.code() {
            Code::Call_rel32_64 | Code::Jmp_rel32_64 => {
                let target = one.near_branch_target();
                match linkage(image, target) {
                    Some(slot) => slot,
                    None => return self.unlisted(image, target),
                }
            }
            Code::Call_rm64 if one.is_ip_rel_memory_operand() => one.ip_rel_memory_address(),
            _ => return None,
        };
        self.of_slot(image, slot).map(|(_, call)| call)
    }

    /// What a call through an entry of the linker does beyond the instrumented code, and the address of the
    /// function; none if nothing.
    pub(super) fn of_slot(&self, image: &Image, slot: u64) -> Option<(u64, Call)> {
        if let Some(determined) = self.determined.borrow().get(&slot) {
            return determined.clone();
        }
        let call = self.determine(image, slot);
        self.determined.borrow_mut().insert(slot, call.clone());
        call
    }

    fn determine(&self, image: &Image, slot: u64) -> Option<(u64, Call)> {
        self.of_function(self.imports.get(&slot)?, image.word(slot)?)
    }

    /// What a call of this function, at this address, does beyond the instrumented code; none if nothing.
    pub(super) fn of_function(&self, name: &str, target: u64) -> Option<(u64, Call)> {
        let (text, len) = crate::sys::own_image::text();
        let (module, instrumented) = self
            .modules
            .iter()
            .find(|(module, _)| module.bytes(target).is_some())
            .map_or((None, false), |(module, instrumented)| (Some(module), *instrumented));
        if instrumented || target == 0 {
            return None;
        }
        let is_modelled = (text..text + len).contains(&target);
        let effects = self.catalogue.effects(name);
        let unknown = match &effects {
            Some(effects) if effects.are_complete() => 0,
            // The model of a call that may wait, such as `read`, does not observe what it transfers: that is
            // in the catalogue.
            None if is_modelled => 0,
            // The runtime's model calls it.
            _ if is_modelled => number(target, name, C_LIBRARY.to_owned()),
            _ => number(target, name, module.map_or_else(String::new, Image::file_name)),
        };
        let effects = effects.unwrap_or_default();
        (unknown != 0 || !effects.operands.is_empty())
            .then(|| (target, Call { effects, unknown, bulk: Bulk::of_function(name) }))
    }
}

/// The name of the function at an address, as the loader knows it.
pub(super) fn exported_name(address: u64) -> String {
    // SAFETY: `info` is plain data, and the loader only writes it; the name it returns is a C string of the
    // module, which stays loaded.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let found = libc::dladdr(address as *const _, &raw mut info) != 0;
        if found && !info.dli_sname.is_null() && info.dli_saddr as u64 == address {
            return CStr::from_ptr(info.dli_sname).to_string_lossy().into_owned();
        }
    }
    format!("the function at {address:#x}")
}

/// The number of an unknown function, from 1.
fn number(address: u64, name: &str, library: String) -> u32 {
    let mut all = UNKNOWNS.all.borrow_mut();
    let found = all.iter().position(|one| one.address == address);
    let index = found.unwrap_or_else(|| {
        all.push(Unknown { address, name: name.to_owned(), library, reported: false });
        all.len() - 1
    });
    index as u32 + 1
}

/// The number of an unknown function, which has no name if it is not exported.
pub(super) fn unknown_function(address: u64, name: Option<&str>, library: String) -> u32 {
    match name {
        Some(name) => number(address, name, library),
        None => number(address, &exported_name(address), library),
    }
}

/// Reports something by name that is not explored, as used by the code before `site`.
pub(crate) fn report_unexplored(name: &str, library: &str, site: u64) {
    // Numbers are found by addresses; text of the program is never at so low a one.
    let hash = name.bytes().fold(0u64, |hash, byte| hash.wrapping_mul(31) ^ u64::from(byte));
    report(number(hash % 4096, name, library.to_owned()), site);
}

/// Tasks access a word unordered: whether it represents uses of state that the library does not protect. They are
/// reported, unless both exclude each other (`excluded`).
pub(crate) fn unordered_uses(word: u64, excluded: bool, site: u64) -> bool {
    let state = match library_states::unprotected_at(word) {
        Some(state) => state,
        None if streams::is_use(word) => "a stream without its lock",
        None => return false,
    };
    if !excluded {
        report_unexplored(&format!("{OVERLAPPING_USE}{state}"), C_LIBRARY, site);
    }
    true
}

/// Whether there is nothing left to report of a call: `number` is 0, or it was reported.
#[inline]
pub(super) fn is_known(number: u32) -> bool {
    number == 0 || UNKNOWNS.all.borrow().get(number as usize - 1).is_some_and(|one| one.reported)
}

/// An execution begins. Which path a probe takes must not depend on the executions before, so each of
/// them reports anew; a function is stored once.
pub(super) fn begin() {
    if UNKNOWNS.reported.replace(false) {
        UNKNOWNS.all.borrow_mut().iter_mut().for_each(|one| one.reported = false);
    }
}

/// The functions that were reported in this execution.
pub(super) fn reported() -> Vec<usize> {
    if !UNKNOWNS.reported.get() {
        return Vec::new();
    }
    let all = UNKNOWNS.all.borrow();
    all.iter().enumerate().filter(|(_, one)| one.reported).map(|(at, _)| at).collect()
}

/// An execution that has begun continues where these were reported.
pub(super) fn restore(reported: &[usize]) {
    let mut all = UNKNOWNS.all.borrow_mut();
    for &at in reported {
        UNKNOWNS.reported.set(true);
        all[at].reported = true;
    }
}

/// Reports a call of an unknown function, from the code before `site`.
#[cold]
pub(super) fn report(number: u32, site: u64) {
    let mut all = UNKNOWNS.all.borrow_mut();
    let Some(one) = all.get_mut(number as usize - 1) else { return };
    if !std::mem::replace(&mut one.reported, true) {
        UNKNOWNS.reported.set(true);
        let calls = &crate::sys::channel::header().unknown_calls;
        let known = |index: &usize| calls[*index].is(&one.name, &one.library);
        if (0..UNKNOWN_CALLS).find(known).is_none()
            && let Some(free) = calls.iter().find(|call| call.is_free())
        {
            let place = crate::detect::learned_points::spot(site.wrapping_sub(1));
            free.set(&one.name, &one.library, place.module, place.offset);
        }
        crate::detect::access::note_gap(traces::points::InstrumentationGap::Calls);
    }
}

/// The GOT entry through which a linker-generated PLT stub jumps.
pub(super) fn linkage(image: &Image, stub: u64) -> Option<u64> {
    let mut code = image.bytes(stub)?;
    let mut at = stub;
    let prefixes: [&[u8]; 2] = [&[0xf3, 0x0f, 0x1e, 0xfa], &[0xf2]];
    for prefix in prefixes {
        if let Some(rest) = code.strip_prefix(prefix) {
            (code, at) = (rest, at + prefix.len() as u64);
        }
    }
    let distance = code.strip_prefix(&[0xff, 0x25])?.first_chunk()?;
    Some((at + 6).wrapping_add_signed(i64::from(i32::from_le_bytes(*distance))))
}
