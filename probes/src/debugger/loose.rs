//! Running without the debugger, which has let go for a while.
//!
//! A stop of a process that is held costs tens of microseconds, a signal in one that is not costs one.
//! So where an instruction is passed many thousand times before the time that matters, the debugger
//! writes down what it looks for ([`Loose`]) and lets go; the breakpoints' signals come here. Whatever
//! is more than counting is the debugger's: the process asks to be held again (`PTRACE_TRACEME`, as
//! when it was started) and goes back to where the signal came from, so that it comes once more.

use crate::channel::header;
use crate::entry;
use crate::points::binary;
use crate::raw;
use crate::signals::WATCHDOG;
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use std::sync::atomic::Ordering::Relaxed;
use traces::condition;
use traces::wire::{Loose, MARK_COPY, Mark, mark};

/// The breakpoint instruction.
const BREAKPOINT: u8 = 0xcc;
/// The `si_code` of a breakpoint instruction, and of one instruction that was executed alone.
const SI_KERNEL: i32 = 0x80;
const TRAP_TRACE: i32 = 2;
/// The flag that has the processor execute one instruction alone.
const TRAP_FLAG: i64 = 1 << 8;

/// Memory for what the debugger writes down.
pub(super) fn prepare() {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let Some(place) = raw::map(0, size_of::<Loose>(), prot, libc::MAP_NORESERVE) else {
        crate::channel::fail("no memory for the debugger's breakpoints")
    };
    header().debug.loose.store(place as u64, Relaxed);
}

/// Serves a signal while the debugger has let go; whether it has.
#[inline]
pub(crate) fn serves(signal: i32, code: i32, context: &mut libc::ucontext_t) -> bool {
    let place = header().debug.loose.load(Relaxed);
    if place == 0 {
        return false;
    }
    // SAFETY: mapped by `prepare`; the debugger writes to it while the process stands still.
    let loose = unsafe { &mut *(place as *mut Loose) };
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
            let (text, len) = entry::own_text();
            if (text..text + len).contains(&at) || !binary::on_breakpoint(context) {
                // The runtime's stop, or the program's own instruction.
                context.uc_mcontext.gregs[libc::REG_RIP as usize] = at as i64;
                come_back(loose);
            }
        }
        _ => {
            if loose.stepping != 0 {
                // Its instruction has not been executed.
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

/// A task came to a mark.
fn passed(loose: &mut Loose, index: usize, context: &mut libc::ucontext_t) -> bool {
    let registers = &context.uc_mcontext.gregs;
    let Mark { address, flags, original, .. } = loose.marks[index];
    let task = u64::from(header().running.load(Relaxed));
    let it = &loose.marks[index];
    let leaves = flags & mark::LEAVES != 0
        && (it.task == 0 || it.task == task + 1)
        && (it.rsp == 0 || it.rsp == registers[libc::REG_RSP as usize] as u64);
    let asks = flags & (mark::HOLDS | mark::RECORD) != 0;
    let holds = asks && holds(loose, it, registers);
    let stops = flags & mark::ALWAYS != 0
        || it.stop_at == it.hits + 1
        || leaves
        || holds && flags & mark::HOLDS != 0;
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
    if holds && flags & mark::RECORD != 0 {
        loose.last = index as u64 + 1;
        (loose.last_step, loose.last_count, loose.last_task) = (step, it.count, task);
    }
    if is_probe {
        // One of the runtime's own stands under it.
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

/// The instruction under a mark was executed, or will not be for now: the mark stands again.
fn stepped(loose: &mut Loose, registers: &mut [i64]) {
    let index = std::mem::take(&mut loose.stepping) as usize - 1;
    set(loose.marks[index].address, BREAKPOINT);
    registers[libc::REG_EFL as usize] &= !TRAP_FLAG;
}

/// Asks to be held again, with everything as the debugger left it.
fn come_back(loose: &mut Loose) {
    loose.on = 0;
    let len = loose.len as usize;
    for it in &mut loose.marks[..len] {
        if it.flags & mark::OPEN != 0 {
            it.flags &= !mark::OPEN;
            protect(it.address, it.protection);
        }
    }
    // SAFETY: a plain call; the parent, which started this process, is its debugger.
    unsafe { raw::call!(libc::SYS_ptrace, libc::PTRACE_TRACEME, 0, 0, 0) };
}

/// Has a signal come when the handler returns, and not before.
fn again(signal: i32) {
    let mask = 1u64 << (signal - 1);
    // SAFETY: plain calls; the mask is read. The return from the handler puts the old one back.
    unsafe {
        raw::call!(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &raw const mask, 0, 8);
        let pid = raw::call!(libc::SYS_getpid);
        raw::call!(libc::SYS_tgkill, pid, raw::call!(libc::SYS_gettid), signal);
    }
}

/// Whether one of a mark's conditions holds, or cannot be told here.
fn holds(loose: &Loose, it: &Mark, registers: &[i64]) -> bool {
    // How gdb numbers the registers.
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
        if condition::evaluate(one, &register, &raw::read).is_none_or(|value| value != 0) {
            return true;
        }
        rest = more;
    }
    false
}

/// A copy of a mark's instruction, with a jump to what follows. Executing that costs a signal less
/// than executing the instruction alone by the flag, and in a virtual machine the flag's is dear.
fn copy(loose: &mut Loose, index: usize) -> Option<u64> {
    /// An indirect jump, with the address right behind.
    const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
    let place = loose.copies.checked_add(index as u64 * MARK_COPY).filter(|_| loose.copies != 0)?;
    let it = &mut loose.marks[index];
    if it.copied > 0 {
        return Some(place);
    }
    let mut code = [0u8; 16];
    let len = (16 - it.address % 16).max(1) as usize;
    // The next sixteen may begin where no memory is.
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
    // SAFETY: the debugger made room for it, which nothing else uses.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place as *mut u8, bytes.len()) };
    Some(place)
}

/// Where the program is when it executes a copy.
fn original(loose: &Loose, rip: u64) -> u64 {
    let within = rip.checked_sub(loose.copies).filter(|_| loose.copies != 0);
    let index = within.map_or(usize::MAX, |within| (within / MARK_COPY) as usize);
    match loose.marks[..loose.len as usize].get(index) {
        Some(it) if rip.is_multiple_of(MARK_COPY) => it.address,
        Some(it) => it.address + it.copied,
        None => rip,
    }
}

/// Makes the page of a mark writable until the debugger is back.
fn open(it: &mut Mark) -> bool {
    if it.flags & mark::OPEN == 0 && protect(it.address, it.protection | libc::PROT_WRITE as u64) {
        it.flags |= mark::OPEN;
    }
    it.flags & mark::OPEN != 0
}

fn protect(address: u64, protection: u64) -> bool {
    // SAFETY: the program's text, which can be read and executed all the while.
    unsafe { raw::call!(libc::SYS_mprotect, address & !4095, 4096, protection) == 0 }
}

fn set(address: u64, byte: u8) {
    // SAFETY: the page was opened when the mark was come to.
    unsafe { (address as *mut u8).write_volatile(byte) };
}
