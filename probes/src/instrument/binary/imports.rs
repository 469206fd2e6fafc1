//! Calls of C library functions by compiler-instrumented modules.
//!
//! Such modules have no probes. The entries through which they call functions of the
//! [catalogue](super::catalogue) lead here instead: the call's accesses are observed, and the function runs.
//! What a call writes as far as its result says is compared with other accesses after it, as ThreadSanitizer does;
//! the rest before it. A step is always announced before the call.

use crate::detect::access::{Access, done, is_in_company, is_point, look, settle_write};
use crate::detect::delayed_stores;
use crate::instrument::binary::bulk::{Call, Caller, in_pieces};
use crate::instrument::binary::bulk_functions::Bulk;
use crate::instrument::binary::calls::{self, Call as CallEffects, Calls};
use crate::instrument::binary::catalogue::{Catalogue, Lasting};
use crate::instrument::binary::extents::several;
use crate::instrument::binary::file_changes;
use crate::instrument::binary::hidden_state;
use crate::instrument::binary::image::{Image, Instrumentation};
use crate::instrument::binary::libc_variables;
use crate::instrument::binary::open_files;
use crate::instrument::binary::operand::Operand;
use crate::instrument::binary::parts::marked;
use crate::instrument::binary::probe_hit::argument_extent;
use crate::instrument::binary::variable_arguments::Arguments;
use crate::instrument::fast_path::passes;
use crate::schedule::access_points::{arrive, visit};
use crate::state::world::on_fiber;
use crate::sys::interpose::PROGRAM_CALL;
use crate::sys::raw;
use crate::sys::real::{find, real};
use std::arch::global_asm;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use traces::Operation;
use traces::store_buffers::MemoryEffect;

const RAX: usize = 0;
const PAGE: usize = 4096;
/// The arguments of a call in the order of the System V ABI, as numbers of registers.
const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];
/// The size of one entry: `push`, `jmp [rip]`, and the address.
const ENTRY: usize = 24;

global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_import_stub",
    ".globl heddle_import_stub",
    "heddle_import_stub:",
    ".cfi_startproc",
    // On the stack: the number of the function, the return address.
    ".cfi_def_cfa rsp, 16",
    "push rbp",
    ".cfi_def_cfa_offset 24",
    ".cfi_offset rbp, -24",
    "mov rbp, rsp",
    ".cfi_def_cfa rbp, 24",
    // The general registers, in the order of their numbers.
    "push r15",
    "push r14",
    "push r13",
    "push r12",
    "push r11",
    "push r10",
    "push r9",
    "push r8",
    "push rdi",
    "push rsi",
    "push rbp",
    "push rsp",
    "push rbx",
    "push rdx",
    "push rcx",
    "push rax",
    "sub rsp, 128",
    "and rsp, -16",
    "movaps [rsp], xmm0",
    "movaps [rsp + 16], xmm1",
    "movaps [rsp + 32], xmm2",
    "movaps [rsp + 48], xmm3",
    "movaps [rsp + 64], xmm4",
    "movaps [rsp + 80], xmm5",
    "movaps [rsp + 96], xmm6",
    "movaps [rsp + 112], xmm7",
    "mov rdi, [rbp + 8]",
    "lea rsi, [rbp - 128]",
    "mov rdx, rsp",
    "lea rcx, [rbp + 16]",
    "call {observe}",
    "movaps xmm0, [rsp]",
    "movaps xmm1, [rsp + 16]",
    "movaps xmm2, [rsp + 32]",
    "movaps xmm3, [rsp + 48]",
    "movaps xmm4, [rsp + 64]",
    "movaps xmm5, [rsp + 80]",
    "movaps xmm6, [rsp + 96]",
    "movaps xmm7, [rsp + 112]",
    "mov r11, rax",
    "mov rax, [rbp - 128]",
    "mov rcx, [rbp - 120]",
    "mov rdx, [rbp - 112]",
    "mov rsi, [rbp - 80]",
    "mov rdi, [rbp - 72]",
    "mov r8, [rbp - 64]",
    "mov r9, [rbp - 56]",
    "mov r10, [rbp - 48]",
    "mov rsp, rbp",
    "pop rbp",
    ".cfi_restore rbp",
    ".cfi_def_cfa rsp, 16",
    "lea rsp, [rsp + 8]",
    ".cfi_def_cfa rsp, 8",
    // Callee-saved registers were not changed.
    "test r11, r11",
    "jz 2f",
    "jmp r11",
    "2:",
    "ret",
    ".cfi_endproc",
    observe = sym heddle_observe_call,
);
unsafe extern "C" {
    fn heddle_import_stub();
}

/// What the result of a call says about what it wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Result {
    /// Nothing, or it writes nothing.
    Nothing,
    /// The number of bytes, or an error.
    Bytes,
    /// The number of elements of the size that the second argument says.
    Elements,
    /// The string at the first argument, unless it is null.
    String,
    /// The length of the text without its zero; the function is called by its form for a list of arguments
    /// (`vsnprintf`), with so many named arguments.
    Text { named: usize, limited: bool },
}

impl Result {
    fn of(name: &str) -> Result {
        match name {
            "read" | "pread" | "pread64" | "recv" | "recvfrom" | "getrandom" => Result::Bytes,
            "fread" | "fread_unlocked" => Result::Elements,
            "fgets" | "fgets_unlocked" => Result::String,
            "snprintf" => Result::Text { named: 3, limited: true },
            "sprintf" => Result::Text { named: 2, limited: false },
            _ => Result::Nothing,
        }
    }
}

/// A function that a compiler-instrumented module imports.
struct Import {
    target: u64,
    /// Whether it returns the address of a function by its name (`dlsym`).
    looks_up: bool,
    operands: Vec<Operand>,
    unknown: u32,
    lasting: Option<Lasting>,
    bulk: Bulk,
    result: Result,
}

/// The numbers of imports, by the address of the function and its name. A function has one entry, so that pointers to
/// it are equal.
#[derive(Default)]
struct Numbers(BTreeMap<u64, Vec<(&'static CStr, usize)>>);

impl Numbers {
    fn find(&self, target: u64, name: &CStr) -> Option<usize> {
        let at_target = self.0.get(&target)?;
        at_target.iter().find(|(known, _)| *known == name).map(|&(_, number)| number)
    }

    fn has(&self, name: &CStr) -> bool {
        self.0.values().flatten().any(|(known, _)| *known == name)
    }
}

struct Imports {
    all: RefCell<Vec<Import>>,
    /// The numbers of the imports, by address and name.
    numbers: RefCell<Numbers>,
    /// The code of the modules that import them.
    code: RefCell<Vec<(u64, u64)>>,
}
// SAFETY: the controlled process has one kernel thread. The lists are written once, before control begins,
// and only read afterwards.
unsafe impl Sync for Imports {}
static IMPORTS: Imports = Imports {
    all: RefCell::new(Vec::new()),
    numbers: RefCell::new(Numbers(BTreeMap::new())),
    code: RefCell::new(Vec::new()),
};

/// Whether an address is in the code of a compiler-instrumented module.
pub(crate) fn has_code(address: u64) -> bool {
    IMPORTS.code.borrow().iter().any(|(start, end)| (*start..*end).contains(&address))
}

/// Redirects the calls of compiler-instrumented modules to functions of other modules, except those of the
/// sanitizer's interface.
pub(crate) fn take_imports() {
    let is_own = |name: &CStr| {
        [b"__tsan".as_slice(), b"__sanitizer"].iter().any(|own| name.to_bytes().starts_with(own))
    };
    let observed = |image: Image| {
        let is_observed = image.is_observed();
        (image, is_observed)
    };
    let modules: Vec<(Image, bool)> = Image::all().into_iter().map(observed).collect();
    let catalogue = libc_variables::catalogue(&modules);
    let mut found = Found::default();
    for (image, _) in &modules {
        if !image.is_own() || image.instrumentation() != Instrumentation::Full {
            continue;
        }
        IMPORTS.code.borrow_mut().extend(image.text());
        let calls = Calls::of(image, &[], &catalogue, &modules);
        for (name, slot) in image.slots().into_iter().filter(|(name, _)| !is_own(name)) {
            found.add(image, name, slot, calls.of_slot(image, slot));
        }
        for (name, pointer) in image.pointers() {
            let target = image.word(pointer).filter(|&target| is_function(name, target));
            let of = name.to_str().ok().filter(|name| catalogue.has(name)).zip(target);
            found.add(image, name, pointer, of.and_then(|(name, at)| calls.of_function(name, at)));
        }
    }
    if found.imports.iter().any(|import| import.looks_up) {
        found.add_exports(&catalogue, &modules);
    }
    found.redirect();
}

/// Whether this is the address of the C library's function, or of its model. (The program may have changed the
/// pointer, or have a function with the same name.)
fn is_function(name: &CStr, address: u64) -> bool {
    let (text, len) = crate::sys::own_image::text();
    (text..text + len).contains(&address) || find(name, None) as u64 == address
}

/// The imports that were found, and the words that have their addresses.
#[derive(Default)]
struct Found {
    imports: Vec<Import>,
    numbers: Numbers,
    /// Each word with the number of its import, and whether it is constant.
    words: Vec<(u64, usize, bool)>,
}

impl Found {
    /// Adds a word that has the address of a function, if the function has effects.
    fn add(
        &mut self,
        image: &Image,
        name: &'static CStr,
        word: u64,
        call: Option<(u64, CallEffects)>,
    ) {
        if let Some(call) = call {
            let number = self.import(name, call);
            self.words.push((word, number, image.is_constant(word)));
        }
    }

    fn import(&mut self, name: &'static CStr, (target, call): (u64, CallEffects)) -> usize {
        if let Some(number) = self.numbers.find(target, name) {
            return number;
        }
        let number = self.imports.len();
        self.numbers.0.entry(target).or_default().push((name, number));
        let (operands, lasting) = (call.effects.operands, call.effects.lasting);
        let result = name.to_str().map_or(Result::Nothing, Result::of);
        let looks_up = [c"dlsym", c"dlvsym"].contains(&name);
        let (unknown, bulk) = (call.unknown, call.bulk);
        self.imports.push(Import { target, looks_up, operands, unknown, lasting, bulk, result });
        number
    }

    /// Adds all functions whose addresses the program may look up.
    fn add_exports(&mut self, catalogue: &Catalogue, modules: &[(Image, bool)]) {
        for (image, _) in modules.iter().filter(|(_, is_observed)| !is_observed) {
            let calls = Calls::of(image, &[], catalogue, modules);
            for export in image.exports() {
                let known = export.name.to_str().ok().filter(|name| catalogue.has(name));
                let address = || export.address.unwrap_or_else(|| find(export.name, None) as u64);
                if let Some(call) = known.and_then(|name| calls.of_function(name, address())) {
                    self.import(export.name, call);
                }
            }
        }
    }

    /// Makes the entries, and lets the words have their addresses.
    fn redirect(self) {
        let len = (self.imports.len() * ENTRY).next_multiple_of(PAGE);
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let entries = raw::map(0, len.max(PAGE), prot, 0).filter(|_| !self.imports.is_empty());
        let Some(entries) = entries.map(|entries| entries as u64) else { return };
        let entry = |number: usize| entries + (number * ENTRY) as u64;
        for number in 0..self.imports.len() {
            let mut code = [0x90; ENTRY];
            code[0] = 0x68;
            code[1..5].copy_from_slice(&(number as u32).to_le_bytes());
            code[5..11].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
            let stub = heddle_import_stub as *const () as u64;
            code[11..19].copy_from_slice(&stub.to_le_bytes());
            // SAFETY: the mapping has room for all entries, and nothing else uses it yet.
            unsafe {
                std::ptr::copy_nonoverlapping(code.as_ptr(), entry(number) as *mut u8, ENTRY);
            }
        }
        for (word, number, constant) in self.words {
            let first = word & !(PAGE as u64 - 1);
            let size = (word + 8 - first) as usize;
            let page = first as *mut libc::c_void;
            // SAFETY: the word is in a module of the program, which stays loaded; the loader has set it to the
            // address of the function, and the entry behaves as the function does. Pages that are constant are
            // made so again.
            unsafe {
                if libc::mprotect(page, size, prot) == 0 {
                    (word as *mut u64).write_unaligned(entry(number));
                    if constant {
                        libc::mprotect(page, size, libc::PROT_READ);
                    }
                }
            }
        }
        IMPORTS.all.borrow_mut().extend(self.imports);
        *IMPORTS.numbers.borrow_mut() = self.numbers;
        calls::set_entries(entries..entries + len as u64);
        // SAFETY: the range was mapped above.
        unsafe {
            libc::mprotect(entries as *mut _, len, libc::PROT_READ | libc::PROT_EXEC);
        }
    }
}

/// The program looks up a function by its name (`dlsym`, `dlvsym`): it gets the entry that leads here. Returns what
/// [`heddle_observe_call`] does.
///
/// A search that begins behind the caller (`RTLD_NEXT`) can only be made by the caller. Calls by that address do not
/// lead here, so that they are not explored.
#[cold]
fn look_up(target: u64, general: &mut [u64; 16], site: u64) -> u64 {
    let [handle, name, version] = [0, 1, 2].map(|index| general[ARGUMENTS[index]]);
    if name == 0 {
        return target;
    }
    // SAFETY: the program passes a C string.
    let named = unsafe { CStr::from_ptr(name as *const c_char) };
    if handle == libc::RTLD_NEXT as u64 {
        if IMPORTS.numbers.borrow().has(named) {
            calls::report_unexplored(&named.to_string_lossy(), "the next library", site);
        }
        return target;
    }
    // SAFETY: this is `dlsym`, or `dlvsym` with one argument more, and the arguments are the program's.
    let found = unsafe {
        let function: extern "C" fn(u64, u64, u64) -> u64 = std::mem::transmute(target);
        function(handle, name, version)
    };
    let number = IMPORTS.numbers.borrow().find(found, named);
    general[RAX] = number.map_or(found, |number| calls::entries().start + (number * ENTRY) as u64);
    0
}

/// Observes a call, with the registers at its beginning: the address to continue at, or 0 if the call was made
/// here, with its result in `general`.
extern "C-unwind" fn heddle_observe_call(
    number: u32,
    general: &mut [u64; 16],
    vectors: *const [u64; 16],
    back: *const u64,
) -> u64 {
    let imports = IMPORTS.all.borrow();
    let Some(import) = imports.get(number as usize) else { return 0 };
    let (target, result, unknown) = (import.target, import.result, import.unknown);
    let (lasting, bulk, looks_up) = (import.lasting, import.bulk, import.looks_up);
    let is_unknown =
        unknown != 0 && lasting.is_none_or(|lasting| lasting.applies(general, open_files::is_file));
    let operands: &'static [Operand] =
        // SAFETY: the list is written once, before any call arrives here, and never freed.
        unsafe { std::slice::from_raw_parts(import.operands.as_ptr(), import.operands.len()) };
    drop(imports);
    // SAFETY: the stub passes the address of the return address.
    let site = unsafe { *back };
    if !on_fiber() || !is_in_company() {
        if on_fiber() && is_unknown && lasting.is_some() {
            calls::report(unknown, site);
        }
        return if looks_up { look_up(target, general, site) } else { target };
    }
    // Arguments on the stack follow the return address.
    let stack = back as u64 + 8;
    let caller = Caller { site, is_compiled: true };
    settle_write();
    if is_unknown {
        calls::report(unknown, site);
    }
    let is_later = |operand: &Operand| {
        operand.writes && result != Result::Nothing && !operand.is_library_state()
    };
    // The state of the library comes first.
    let is_first = |operand: &&Operand| operand.is_library_state() && bulk != Bulk::None;
    for operand in operands.iter().filter(is_first) {
        touch(operand, &Arguments { general, stack, site });
    }
    if bulk != Bulk::None {
        store_call(site, back, general);
        // SAFETY: the stub saved eight vector registers there.
        let vectors = |number: u8| unsafe { (*vectors)[2 * usize::from(number & 7)] };
        let call = &mut Call { general, flags: &mut 0, stack, vectors: &vectors };
        if in_pieces(bulk, caller, call).is_some() {
            return 0;
        }
    }
    let is_now =
        |operand: &&Operand| !is_later(operand) && !is_first(operand) && !operand.is_joined;
    for operand in operands.iter().filter(is_now) {
        touch(operand, &Arguments { general, stack, site });
    }
    for operand in operands.iter().filter(|operand| is_later(operand)) {
        announce(operand, &Arguments { general, stack, site });
    }
    let joined = operands.iter().filter(|operand| operand.is_joined);
    let arguments = Arguments { general, stack, site };
    file_changes::change(joined, &arguments, |operand, address, size| {
        access(operand, address, size, site);
    });
    hidden_state::begun();
    if looks_up {
        return look_up(target, general, site);
    }
    if result == Result::Nothing {
        return target;
    }
    let arguments = ARGUMENTS.map(|register| general[register]);
    let argument = |index: usize| arguments[index];
    let written = match result {
        Result::Text { named, limited } => {
            let length = print(general, vectors, back, named, limited);
            general[RAX] = length as u64;
            let room = if limited { argument(1) } else { u64::MAX };
            if length < 0 { 0 } else { (length as u64 + 1).min(room) }
        }
        _ => {
            // SAFETY: the function takes at most six integers, which are passed on as they came.
            let function: extern "C-unwind" fn(u64, u64, u64, u64, u64, u64) -> u64 =
                unsafe { std::mem::transmute(target) };
            let answer = function(
                argument(0),
                argument(1),
                argument(2),
                argument(3),
                argument(4),
                argument(5),
            );
            let size = argument(1);
            let start = argument(0);
            general[RAX] = answer;
            match result {
                Result::Elements => answer.saturating_mul(size),
                Result::String if answer == 0 => 0,
                Result::String => {
                    real!(strlen(start as *const c_char) as fn(*const c_char) -> usize) as u64 + 1
                }
                _ => (answer as i64).max(0) as u64,
            }
        }
    };
    for operand in operands.iter().filter(|operand| is_later(operand)) {
        let each = &mut |address, size: u64| {
            let access = marked(operand, caller.access(address, size.min(written), true));
            if access.size > 0 && is_point(&access) {
                look(&access);
            } else if access.size > 0
                && (access.in_parts || !passes(access.address, access.size, true, site))
            {
                visit(access);
            }
        };
        each_range(operand, &Arguments { general, stack, site }, each);
    }
    0
}

/// The call is about to write at the operand, and its result will say how much. Where that may be a scheduling
/// point, the task parks here: when it continues, the call is made at once.
fn announce(operand: &Operand, arguments: &Arguments<'_>) {
    let caller = Caller { site: arguments.site, is_compiled: true };
    each_range(operand, arguments, &mut |address, size| {
        let access = caller.access(address, size, true);
        if size > 0 && is_point(&access) {
            arrive(&access, Operation::Write);
            delayed_stores::note(MemoryEffect::Store, address, arguments.site);
            done(&access);
        }
    });
}

/// Stores what the program left at the call, by which a loop that repeats it is recognised.
fn store_call(site: u64, back: *const u64, general: &[u64; 16]) {
    let [rbx, r12, r13, r14, r15, rsi, rdx, rax] =
        [3, 12, 13, 14, 15, 6, 2, RAX].map(|number| general[number]);
    // SAFETY: the stub's frame begins below the return address and the number of the function with rbp.
    let rbp = unsafe { *back.sub(2) };
    PROGRAM_CALL.restore(&(site, back as u64, [rbx, rbp, r12, r13, r14, r15, rsi, rdx, rax]));
}

/// Calls `each` with address and size of every range that an operand of a call leads to.
fn each_range(operand: &Operand, arguments: &Arguments<'_>, each: &mut dyn FnMut(u64, u64)) {
    if !several(operand, arguments, each)
        && let Some((address, size)) = argument_extent(operand, arguments.general)
    {
        each(address, size);
    }
}

/// Observes the accesses of an operand of a call.
fn touch(operand: &Operand, arguments: &Arguments<'_>) {
    let each = &mut |address, size| access(operand, address, size, arguments.site);
    each_range(operand, arguments, each);
}

fn access(operand: &Operand, address: u64, size: u64, site: u64) {
    let kinds = [(operand.reads, false), (operand.writes, true)];
    for writes in kinds.into_iter().filter(|(is, _)| *is).map(|(_, writes)| writes) {
        // State that the library and the kernel protect themselves is accessed as if by atomics.
        let (atomic, proven) = (operand.is_library_state(), true);
        let access = Access { address, size, writes, atomic, proven, site, in_parts: false };
        let access = marked(operand, access);
        if size > 0 && (atomic || access.in_parts || !passes(address, size, writes, site)) {
            visit(access);
        }
    }
}

/// Calls `vsnprintf` or `vsprintf` for a function with a variable number of arguments.
fn print(
    general: &[u64; 16],
    vectors: *const [u64; 16],
    back: *const u64,
    named: usize,
    limited: bool,
) -> i32 {
    /// `va_list` of the System V ABI, and the registers to which it refers.
    #[repr(C)]
    struct List {
        general_offset: u32,
        vector_offset: u32,
        on_stack: *const u64,
        registers: *const Registers,
    }
    #[repr(C)]
    struct Registers {
        general: [u64; 6],
        vectors: [u64; 16],
    }
    let registers = Registers {
        general: ARGUMENTS.map(|register| general[register]),
        // SAFETY: the stub saved eight vector registers there.
        vectors: unsafe { *vectors },
    };
    let mut list = List {
        general_offset: 8 * named as u32,
        vector_offset: 48,
        // SAFETY: arguments on the stack follow the return address.
        on_stack: unsafe { back.add(1) },
        registers: &raw const registers,
    };
    let list = &raw mut list as u64;
    let [to, size, format, ..] = registers.general;
    if limited {
        real!(vsnprintf(to, size, format, list) as fn(u64, u64, u64, u64) -> i32)
    } else {
        real!(vsprintf(to, size, list) as fn(u64, u64, u64) -> i32)
    }
}
