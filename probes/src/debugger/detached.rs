//! Running while the debugger has detached for a while.
//!
//! A stop of a traced process costs tens of microseconds, a signal in an untraced one costs one. So
//! if an instruction is passed many thousand times before the one that counts, the debugger writes
//! down what it looks for ([`BreakpointTable`]) and detaches; the handler here receives the signals
//! of its breakpoints. Anything beyond counting is left to the debugger: the process asks to be
//! traced again (`PTRACE_TRACEME`, as when it was started) and returns to the instruction of the
//! signal, which then occurs again.

use crate::instrument::binary;
use crate::sys::channel::header;
use crate::sys::own_image;
use crate::sys::raw;
use crate::sys::signals::WATCHDOG;
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use std::sync::atomic::Ordering::Relaxed;
use traces::agent_expression;
use traces::wire::{BreakpointTable, CountedBreakpoint, MARK_COPY, breakpoint_flags};

/// The breakpoint instruction.
const BREAKPOINT: u8 = 0xcc;
/// The `si_code` of a breakpoint instruction, and of a single step.
const SI_KERNEL: i32 = 0x80;
const TRAP_TRACE: i32 = 2;
/// The flag for a single step.
const TRAP_FLAG: i64 = 1 << 8;

/// Maps memory for the debugger's list.
pub(crate) fn prepare() {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let Some(place) = raw::map(0, size_of::<BreakpointTable>(), prot, libc::MAP_NORESERVE) else {
        crate::sys::channel::fail("no memory for the debugger's breakpoints")
    };
    header().debug.loose.store(place as u64, Relaxed);
}

/// Serves a signal while the debugger has detached; false if it has not.
#[inline]
pub(crate) fn serves(signal: i32, code: i32, context: &mut libc::ucontext_t) -> bool {
    let place = header().debug.loose.load(Relaxed);
    if place == 0 {
        return false;
    }
    // SAFETY: `prepare` mapped the memory, and zeros are a valid table. The debugger writes to it
    // only while the process is stopped, and the watchdog's signal is blocked while SIGTRAP is
    // served. While another signal is served it could interrupt this handler and make a second
    // reference, which then uses the table alone until it returns.
    let loose = unsafe { &mut *(place as *mut BreakpointTable) };
    if loose.on == 0 {
        return false;
    }
    let registers = &mut context.uc_mcontext.gregs;
    match (signal, code) {
        (libc::SIGTRAP, TRAP_TRACE) if loose.stepping != 0 => stepped(loose, registers),
        (libc::SIGTRAP, SI_KERNEL) => {
            let at = registers[libc::REG_RIP as usize] as u64 - 1;
            let marks = &loose.marks[..loose.len as usize];
            if let Ok(index) = marks.binary_search_by_key(&at, |mark| mark.address) {
                return passed(loose, index, context);
            }
            let (text, len) = own_image::text();
            if (text..text + len).contains(&at) || !binary::on_breakpoint(context) {
                // The runtime's own stop instruction, or a breakpoint instruction that the program contains:
                // the program counter goes back to it.
                context.uc_mcontext.gregs[libc::REG_RIP as usize] = at as i64;
                come_back(loose);
            }
        }
        _ => {
            if loose.stepping != 0 {
                // The single step did not happen.
                stepped(loose, registers);
            }
            let rip = &mut registers[libc::REG_RIP as usize];
            *rip = original(loose, *rip as u64) as i64;
            come_back(loose);
            if signal == WATCHDOG {
                again(libc::SIGTRAP);
            } else if code <= 0 {
                again(signal);
            }
        }
    }
    true
}

/// A task reached a mark.
fn passed(loose: &mut BreakpointTable, index: usize, context: &mut libc::ucontext_t) -> bool {
    let registers = &context.uc_mcontext.gregs;
    let CountedBreakpoint { address, flags, original, .. } = loose.marks[index];
    let task = u64::from(header().running.load(Relaxed));
    let it = &loose.marks[index];
    let leaves = flags & breakpoint_flags::LEAVES != 0
        && (it.task == 0 || it.task == task + 1)
        && (it.rsp == 0 || it.rsp == registers[libc::REG_RSP as usize] as u64);
    let asks = flags & (breakpoint_flags::HOLDS | breakpoint_flags::RECORD) != 0;
    let holds = asks && holds(loose, it, registers);
    let stops = flags & breakpoint_flags::ALWAYS != 0
        || it.stop_at == it.hits + 1
        || leaves
        || holds && flags & breakpoint_flags::HOLDS != 0;
    let is_probe = original == u64::from(BREAKPOINT);
    let copy = if stops || is_probe { None } else { copy(loose, index) };
    if stops || !is_probe && copy.is_none() && !open(&mut loose.marks[index]) {
        context.uc_mcontext.gregs[libc::REG_RIP as usize] = address as i64;
        come_back(loose);
        return true;
    }
    let step = header().debug.step.load(Relaxed);
    let it = &mut loose.marks[index];
    it.hits += 1;
    it.count = if it.step == step { it.count + 1 } else { 1 };
    it.step = step;
    if holds && flags & breakpoint_flags::RECORD != 0 {
        loose.last = index as u64 + 1;
        (loose.last_step, loose.last_count, loose.last_task) = (step, it.count, task);
    }
    if is_probe {
        // The runtime has a probe at this instruction.
        return binary::on_breakpoint(context);
    }
    if let Some(copy) = copy {
        context.uc_mcontext.gregs[libc::REG_RIP as usize] = copy as i64;
        return true;
    }
    set(address, original as u8);
    loose.stepping = index as u64 + 1;
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RIP as usize] = address as i64;
    registers[libc::REG_EFL as usize] |= TRAP_FLAG;
    true
}

/// The instruction at a mark was executed, or will not be for now: restores the mark.
fn stepped(loose: &mut BreakpointTable, registers: &mut [i64]) {
    let index = std::mem::take(&mut loose.stepping) as usize - 1;
    set(loose.marks[index].address, BREAKPOINT);
    registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
}

/// Asks to be traced again, with the memory as the debugger left it.
fn come_back(loose: &mut BreakpointTable) {
    loose.on = 0;
    let len = loose.len as usize;
    for it in &mut loose.marks[..len] {
        if it.flags & breakpoint_flags::OPEN != 0 {
            it.flags &= !breakpoint_flags::OPEN;
            protect(it.address, it.protection);
        }
    }
    // SAFETY: passes no pointers; the parent, which started this process, is its debugger.
    unsafe { raw::call!(libc::SYS_ptrace, libc::PTRACE_TRACEME, 0, 0, 0) };
}

/// Makes a signal pending, so that it is delivered when the handler returns.
fn again(signal: i32) {
    let mask = 1u64 << (signal - 1);
    // SAFETY: the kernel only reads the local mask. The return from the handler restores the old
    // one.
    unsafe {
        raw::call!(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &raw const mask, 0, 8);
        let pid = raw::call!(libc::SYS_getpid);
        raw::call!(libc::SYS_tgkill, pid, raw::call!(libc::SYS_gettid), signal);
    }
}

/// Whether one of a mark's conditions is true, or cannot be evaluated here.
fn holds(loose: &BreakpointTable, it: &CountedBreakpoint, registers: &[i64]) -> bool {
    // gdb's numbers of the registers.
    const NUMBERS: [i32; 16] = [
        libc::REG_RAX,
        libc::REG_RBX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_RBP,
        libc::REG_RSP,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    const RIP: usize = 16;
    if it.condition_len == 0 {
        return true;
    }
    let from = it.condition as usize;
    let Some(code) = loose.conditions.get(from..from + it.condition_len as usize) else {
        return true;
    };
    let register = |number: usize| match NUMBERS.get(number) {
        Some(&name) => Some(registers[name as usize] as u64),
        None => (number == RIP).then_some(it.address),
    };
    let mut rest = code;
    while let Some((len, more)) = rest.split_first_chunk() {
        let Some((one, more)) = more.split_at_checked(usize::from(u16::from_le_bytes(*len))) else {
            return true;
        };
        if agent_expression::evaluate(one, &register, &raw::read).is_none_or(|value| value != 0) {
            return true;
        }
        rest = more;
    }
    false
}

/// A copy of a mark's instruction, followed by a jump back. Executing it avoids the signal of a
/// single step, which is especially expensive in a virtual machine.
fn copy(loose: &mut BreakpointTable, index: usize) -> Option<u64> {
    /// An indirect jump, whose target address follows it.
    const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
    let place = loose.copies.checked_add(index as u64 * MARK_COPY).filter(|_| loose.copies != 0)?;
    let it = &mut loose.marks[index];
    if it.copied > 0 {
        return Some(place);
    }
    let mut code = [0u8; 16];
    let len = (16 - it.address % 16).max(1) as usize;
    // The next sixteen bytes may begin in unmapped memory.
    let whole = raw::read(it.address, &mut code) || raw::read(it.address, &mut code[..len]);
    code[0] = it.original as u8;
    let mut decoder = Decoder::with_ip(64, &code, it.address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    let repeats = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    let next = instruction.flow_control() == FlowControl::Next && !instruction.is_invalid();
    if !whole || !next || repeats {
        return None;
    }
    let len = instruction.len();
    if instruction.is_ip_rel_memory_operand() {
        let at = decoder.get_constant_offsets(&instruction).displacement_offset();
        let target = instruction.ip_rel_memory_address();
        let distance = target.wrapping_sub(place + len as u64) as i64;
        let distance = i32::try_from(distance).ok()?;
        code.get_mut(at..at + 4)?.copy_from_slice(&distance.to_le_bytes());
    }
    it.copied = len as u64;
    let mut bytes = [0u8; MARK_COPY as usize];
    bytes[..len].copy_from_slice(&code[..len]);
    bytes[len..len + 6].copy_from_slice(&JUMP);
    bytes[len + 6..len + 14].copy_from_slice(&(it.address + len as u64).to_le_bytes());
    // SAFETY: the debugger mapped `MARK_COPY` bytes for each mark at this address, writable and for
    // nothing else.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place as *mut u8, bytes.len()) };
    Some(place)
}

/// The program's address while it executes a copy.
fn original(loose: &BreakpointTable, rip: u64) -> u64 {
    let within = rip.checked_sub(loose.copies).filter(|_| loose.copies != 0);
    let index = within.map_or(usize::MAX, |within| (within / MARK_COPY) as usize);
    match loose.marks[..loose.len as usize].get(index) {
        Some(it) if rip.is_multiple_of(MARK_COPY) => it.address,
        Some(it) => it.address + it.copied,
        None => rip,
    }
}

/// Makes the page of a mark writable until the debugger attaches again.
fn open(it: &mut CountedBreakpoint) -> bool {
    if it.flags & breakpoint_flags::OPEN == 0
        && protect(it.address, it.protection | libc::PROT_WRITE as u64)
    {
        it.flags |= breakpoint_flags::OPEN;
    }
    it.flags & breakpoint_flags::OPEN != 0
}

fn protect(address: u64, protection: u64) -> bool {
    // SAFETY: a page of the program's code, which stays readable and executable.
    unsafe { raw::call!(libc::SYS_mprotect, address & !4095, 4096, protection) == 0 }
}

fn set(address: u64, byte: u8) {
    // SAFETY: `open` made the page writable when the mark was reached.
    unsafe { (address as *mut u8).write_volatile(byte) };
}
