//! Backtraces of the running task, by the unwinder.

use crate::fiber::switch::Parked;
use crate::sys::interpose::PROGRAM_CALL;
use crate::sys::real::real;
use std::arch::global_asm;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

pub(super) type Visit = extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int;
pub(super) const CONTINUE: c_int = 0;
const NORMAL_STOP: c_int = 4;

/// While the runtime walks the running task's stack, where the stack pointer is stored with which that can be
/// abandoned; else 0.
struct Walks(Cell<u64>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Walks {}
static WALKS: Walks = Walks(Cell::new(0));

/// Whether the runtime walks the running task's stack: functions that the unwinder calls then are no calls of the
/// program.
pub(crate) fn is_running() -> bool {
    WALKS.0.get() != 0
}

/// Calls `visit` for each frame of the running task, until it returns something else than [`CONTINUE`].
///
/// # Safety
/// `data` is what `visit` expects.
pub(super) unsafe fn walk_frames(visit: Visit, data: *mut c_void) {
    extern "C-unwind" fn unwind(visit: Visit, data: *mut c_void) -> c_int {
        real!(_Unwind_Backtrace(visit, data) as fn(Visit, *mut c_void) -> c_int)
    }
    let mut stack = 0;
    let outer = WALKS.0.replace(&raw mut stack as u64);
    // SAFETY: the unwinder's function with its own types, and a local for the stack pointer; the rest is the
    // caller's promise.
    unsafe { heddle_walk(unwind, visit, data, &raw mut stack) };
    WALKS.0.set(outer);
}

unsafe extern "C-unwind" {
    /// Calls `unwind` with `visit` and `data`, with its own stack pointer in `stack` during the call.
    fn heddle_walk(
        unwind: extern "C-unwind" fn(Visit, *mut c_void) -> c_int,
        visit: Visit,
        data: *mut c_void,
        stack: *mut u64,
    );
    /// Where it continues behind the call, with that stack pointer.
    fn heddle_walked();
}

global_asm!(
    ".pushsection .text.heddle_walk,\"ax\",@progbits",
    ".hidden heddle_walk",
    ".globl heddle_walk",
    ".hidden heddle_walked",
    ".globl heddle_walked",
    "heddle_walk:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "push rbx",
    ".cfi_def_cfa_offset 24",
    ".cfi_offset rbx, -24",
    "push r12",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset r12, -32",
    "push r13",
    ".cfi_def_cfa_offset 40",
    ".cfi_offset r13, -40",
    "push r14",
    ".cfi_def_cfa_offset 48",
    ".cfi_offset r14, -48",
    "push r15",
    ".cfi_def_cfa_offset 56",
    ".cfi_offset r15, -56",
    "sub rsp, 8",
    ".cfi_def_cfa_offset 64",
    "mov [rcx], rsp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsi, rdx",
    "call rax",
    "heddle_walked:",
    "add rsp, 8",
    ".cfi_def_cfa_offset 56",
    "pop r15",
    ".cfi_def_cfa_offset 48",
    "pop r14",
    ".cfi_def_cfa_offset 40",
    "pop r13",
    ".cfi_def_cfa_offset 32",
    "pop r12",
    ".cfi_def_cfa_offset 24",
    "pop rbx",
    ".cfi_def_cfa_offset 16",
    "pop rbp",
    ".cfi_def_cfa_offset 8",
    "ret",
    ".cfi_endproc",
    ".popsection",
);

/// Ends the walk that is in progress if its unwinder failed with these registers: code that pushes without unwind
/// information (assembler) makes it read any number as an address. True if the fault is dealt with.
pub(crate) fn abandon(context: &mut libc::ucontext_t) -> bool {
    let stack = WALKS.0.get();
    let general = &mut context.uc_mcontext.gregs;
    let (text, len) = crate::sys::own_image::text();
    if stack == 0 || (text..text + len).contains(&(general[libc::REG_RIP as usize] as u64)) {
        return false;
    }
    // SAFETY: `walk_frames` is in progress, which has the local at this address.
    general[libc::REG_RSP as usize] = unsafe { *(stack as *const u64) } as i64;
    general[libc::REG_RIP as usize] = heddle_walked as *const () as i64;
    true
}

/// Makes the unwinder build its tables. It does so at its first use, with a once flag, and the
/// program's steps must not depend on which task throws first.
pub(crate) fn wake() {
    extern "C-unwind" fn next_frame(_: *mut c_void, _: *mut c_void) -> c_int {
        CONTINUE
    }
    // SAFETY: the callback only returns.
    unsafe { walk_frames(next_frame, std::ptr::null_mut()) };
}

/// The return addresses on the running task's stack, innermost first, without the runtime's own.
pub(crate) fn take() -> Vec<u64> {
    /// Deeper frames are cut off.
    const DEEPEST: usize = 128;
    let mut addresses = vec![0; DEEPEST];
    let found = innermost(&mut addresses);
    addresses.truncate(found);
    addresses
}

/// The innermost return addresses, as many as fit; returns how many there are. Allocates nothing, and keeps what is
/// stored for the call in progress: the unwinder may call interposed functions.
pub(crate) fn innermost(addresses: &mut [u64]) -> usize {
    struct Walk<'a> {
        addresses: &'a mut [u64],
        found: usize,
        own: (u64, u64),
    }
    extern "C-unwind" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes on the pointer that `innermost` gave it: a local `Walk`, to
        // which no other reference is used during the walk.
        let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
        let address = real!(_Unwind_GetIP(context) as fn(*mut c_void) -> u64);
        let own = (walk.own.0..walk.own.0 + walk.own.1).contains(&address);
        if let Some(place) = walk.addresses.get_mut(walk.found).filter(|_| !own) {
            *place = address;
            walk.found += 1;
        }
        if walk.found < walk.addresses.len() { CONTINUE } else { NORMAL_STOP }
    }
    let mut walk = Walk { addresses, found: 0, own: crate::sys::own_image::text() };
    let to = (&raw mut walk).cast();
    // SAFETY: the pointer is that of a `Walk`, which outlives the call.
    PROGRAM_CALL.keep_during(|| unsafe { walk_frames(visit, to) });
    walk.found
}

/// The registers with which the innermost frame of the program continues, as far as its callees preserve them; none if
/// all frames are the runtime's. Allocates nothing.
pub(crate) fn registers() -> Option<Parked> {
    struct Walk {
        own: (u64, u64),
        found: Option<Parked>,
    }
    extern "C-unwind" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes on the pointer that `registers` gave it: a local `Walk`, to which no
        // other reference is used during the walk.
        let walk = unsafe { &mut *walk.cast::<Walk>() };
        let rip = real!(_Unwind_GetIP(context) as fn(*mut c_void) -> u64);
        // A fiber's first frame returns to nowhere.
        if rip == 0 || (walk.own.0..walk.own.0 + walk.own.1).contains(&rip) {
            return CONTINUE;
        }
        let rsp = real!(_Unwind_GetCFA(context) as fn(*mut c_void) -> u64);
        // The numbers are DWARF's.
        let preserved =
            |number: c_int| real!(_Unwind_GetGR(context, number) as fn(*mut c_void, c_int) -> u64);
        let (rbx, rbp) = (preserved(3), preserved(6));
        let [r12, r13, r14, r15] = [12, 13, 14, 15].map(preserved);
        walk.found = Some(Parked { rip, rsp, rbp, rbx, r12, r13, r14, r15 });
        NORMAL_STOP
    }
    let (start, len) = crate::sys::own_image::text();
    let mut walk = Walk { own: (start, len), found: None };
    let to = (&raw mut walk).cast();
    // SAFETY: the pointer is that of a `Walk`, which outlives the call.
    PROGRAM_CALL.keep_during(|| unsafe { walk_frames(visit, to) });
    walk.found
}

/// Whether a call is in progress in the running task: the one that returns to `site`, made with this stack
/// pointer. `is_inner`: whether a frame with this address may be that of a function that was called from there.
/// Allocates nothing.
pub(crate) fn is_in_call(site: u64, stack: u64, is_inner: &dyn Fn(u64) -> bool) -> bool {
    struct Walk<'a> {
        wanted: (u64, u64),
        is_inner: &'a dyn Fn(u64) -> bool,
        found: bool,
    }
    extern "C-unwind" fn visit(context: *mut c_void, walk: *mut c_void) -> c_int {
        // SAFETY: the unwinder passes on the pointer that `is_in_call` gave it: a local `Walk`, to which no
        // other reference is used during the walk.
        let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
        let address = real!(_Unwind_GetIP(context) as fn(*mut c_void) -> u64);
        let frame = real!(_Unwind_GetCFA(context) as fn(*mut c_void) -> u64);
        walk.found |= (address, frame) == walk.wanted;
        let goes_past = frame != walk.wanted.1 && !(walk.is_inner)(frame);
        if walk.found || goes_past { NORMAL_STOP } else { CONTINUE }
    }
    let mut walk = Walk { wanted: (site, stack), is_inner, found: false };
    // SAFETY: the pointer is that of a `Walk`, which outlives the call.
    unsafe { walk_frames(visit, (&raw mut walk).cast()) };
    walk.found
}
