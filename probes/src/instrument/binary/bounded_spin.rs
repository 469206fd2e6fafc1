//! Loops that read one place until it changes, or until they have counted to a bound: the contended path of
//! the locks of Rust's standard library, for example, which reads a lock a hundred times before it sleeps.
//!
//! A read that leads to the next one has no effect but on the count. If the count is not used once the value
//! lets the loop end, then the task might as well have read later: every execution of the loop is equal, but
//! for the count, to one in which all its reads follow each other without a step of another task. So only the
//! first read of such a loop is a scheduling point. Without that, each read is a separate alternative, and a
//! search multiplies a hundred of them for each contended lock.
//!
//! This module finds such loops in the instructions of a function. It is certain about each part but one: a
//! second return register (rdx) counts as unused if the function also returns with what a call left in it.

use iced_x86::{
    ConditionCode, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register, RflagsBits,
};
use std::collections::HashMap;

/// The longest loop, in instructions.
const LONGEST: usize = 16;
/// The most registers in which a loop counts.
const MOST_COUNTERS: usize = 4;
/// The most instructions behind a loop that are followed.
const MOST_FOLLOWED: usize = 4096;

const RAX: u8 = 0;
const RDX: u8 = 2;
const RSP: u8 = 4;
/// The registers in which a call may pass a count: rdi, rsi, rdx, rcx, r8 and r9. Two others have a special
/// meaning for some functions (rax, r10), and are set for each call of those.
const ARGUMENTS: u16 = 1 << 7 | 1 << 6 | 1 << RDX | 1 << 1 | 3 << 8;
/// The registers that a system call may read.
const SYSTEM_ARGUMENTS: u16 = 1 << RAX | 1 << 7 | 1 << 6 | 1 << RDX | 7 << 8;
/// rbx, rsp, rbp, r12 to r15.
const PRESERVED: u16 = 1 << 3 | 1 << RSP | 1 << 5 | 0xf << 12;

/// The flags that a computation sets.
const FLAGS: [u32; 6] = [
    RflagsBits::OF,
    RflagsBits::SF,
    RflagsBits::ZF,
    RflagsBits::AF,
    RflagsBits::CF,
    RflagsBits::PF,
];

/// A register at one read, as the sum of a register at the read before and a constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sum {
    register: u8,
    from: u8,
    step: i64,
    /// Whether only the low 32 bits count.
    narrow: bool,
}

/// How the registers differ between two reads of a loop that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoundedSpin {
    sums: [Sum; MOST_COUNTERS],
    len: u8,
    /// The registers whose value depends on what was read, as bits.
    loaded: u16,
}

impl BoundedSpin {
    /// Whether the loop may have led from the first registers to the second ones.
    pub(crate) fn leads(&self, before: &[u64; 16], now: &[u64; 16]) -> bool {
        let sums = &self.sums[..usize::from(self.len)];
        let is_sum = |sum: &Sum| {
            let value = before[usize::from(sum.from)].wrapping_add_signed(sum.step);
            let value = if sum.narrow { value & 0xffff_ffff } else { value };
            value == now[usize::from(sum.register)]
        };
        let changes = |number: usize| {
            self.loaded >> number & 1 != 0
                || sums.iter().any(|sum| usize::from(sum.register) == number)
        };
        sums.iter().all(is_sum)
            && (0..16).all(|number| changes(number) || before[number] == now[number])
    }
}

/// The loops of a function, each with the address of its read. `is_void`: whether the function is known to return
/// nothing.
pub(crate) fn find(function: &[Instruction], is_void: bool) -> Vec<(u64, BoundedSpin)> {
    let behind = Behind { function, is_void };
    let mut found = Vec::new();
    for (last, branch) in function.iter().enumerate() {
        let is_branch = matches!(
            branch.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        if !is_branch || branch.near_branch_target() > branch.ip() {
            continue;
        }
        let Some(first) = position(function, branch.near_branch_target()) else { continue };
        if last - first < LONGEST
            && let Some(one) = in_loop(&behind, first, last)
        {
            found.push(one);
        }
    }
    found.sort_unstable_by_key(|(read, _)| *read);
    // Two loops around one read: which one a task is in is not known.
    let reads: Vec<u64> = found.iter().map(|(read, _)| *read).collect();
    found.retain(|(read, _)| reads.iter().filter(|other| *other == read).count() == 1);
    found
}

fn position(function: &[Instruction], address: u64) -> Option<usize> {
    function.binary_search_by_key(&address, Instruction::ip).ok()
}

/// On what a value depends, apart from what is the same in each iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Taint {
    /// On what the loop reads.
    loaded: bool,
    /// On how often it has read.
    counted: bool,
}

impl Taint {
    fn with(self, other: Taint) -> Taint {
        Taint { loaded: self.loaded | other.loaded, counted: self.counted | other.counted }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Value {
    taint: Taint,
    /// A register at the read, and what was added to it.
    sum: Option<(u8, i64, bool)>,
}

/// The registers and flags while one iteration is followed, from its read on.
struct Iteration {
    registers: [Value; 16],
    flags: [Taint; FLAGS.len()],
}

/// The loop between two instructions, the last of which branches back to the first.
fn in_loop(behind: &Behind<'_>, first: usize, last: usize) -> Option<(u64, BoundedSpin)> {
    let body = &behind.function[first..=last];
    let mut factory = InstructionInfoFactory::new();
    let mut reads = body.iter().enumerate().filter(|(_, one)| accesses_memory(&mut factory, one));
    let (at, read) = reads.next().filter(|_| body.iter().all(is_simple))?;
    if reads.next().is_some() || !is_read(read) {
        return None;
    }
    let mut written = 0u16;
    for one in body {
        written |= outputs(&mut factory, one);
    }
    let address = registers(&[read.memory_base(), read.memory_index()]);
    if written & (address | 1 << RSP) != 0 {
        return None;
    }
    // Those that the iteration before left are not known.
    let flags = [Taint { loaded: true, counted: true }; FLAGS.len()];
    let mut now = Iteration { registers: [Value::default(); 16], flags };
    for number in bits(written) {
        let taint = Taint { counted: true, loaded: false };
        now.registers[usize::from(number)] = Value { taint, sum: Some((number, 0, false)) };
    }
    let mut exits = Vec::new();
    let order = (at..body.len()).chain(0..at);
    for index in order {
        let one = &body[index];
        match one.flow_control() {
            FlowControl::ConditionalBranch => {
                let target = one.near_branch_target();
                let outside = if index == body.len() - 1 { one.next_ip() } else { target };
                let flags = now.flags_of(one);
                if index < body.len() - 1
                    && (body[0].ip()..=body[body.len() - 1].ip()).contains(&target)
                    || flags.loaded && flags.counted
                {
                    return None;
                }
                // Where the count ends the loop, it is the same each time.
                if !flags.counted {
                    exits.push((outside, now.counted()));
                }
            }
            FlowControl::UnconditionalBranch if index == body.len() - 1 => {}
            FlowControl::Next => now.follow(&mut factory, one, index == at),
            _ => return None,
        }
    }
    let spin = now.changes(written)?;
    exits.iter().all(|&(to, counted)| behind.is_unused(to, counted)).then(|| (read.ip(), spin))
}

impl Iteration {
    /// Registers that depend on the count, as bits.
    fn counted(&self) -> u16 {
        let counted = |number: &usize| self.registers[*number].taint.counted;
        (0..16).filter(counted).fold(0, |bits, number| bits | 1 << number)
    }

    fn follow(
        &mut self,
        factory: &mut InstructionInfoFactory,
        one: &Instruction,
        is_the_read: bool,
    ) {
        let mut taint = Taint { loaded: is_the_read, counted: false };
        for number in bits(inputs(factory, one)) {
            taint = taint.with(self.registers[usize::from(number)].taint);
        }
        taint = taint.with(self.flags_of(one));
        let sum = self.sum(one).filter(|_| taint == Taint { loaded: false, counted: true });
        let written = outputs(factory, one);
        for number in bits(written) {
            self.registers[usize::from(number)] = Value { taint, sum };
        }
        for (flag, now) in FLAGS.iter().zip(&mut self.flags) {
            if one.rflags_modified() & flag != 0 {
                *now = taint;
            }
        }
    }

    /// On what the flags depend that an instruction reads.
    fn flags_of(&self, one: &Instruction) -> Taint {
        let read = FLAGS.iter().zip(self.flags).filter(|(flag, _)| one.rflags_read() & **flag != 0);
        read.fold(Taint::default(), |all, (_, flag)| all.with(flag))
    }

    /// The result of an instruction that moves a register, or adds a constant to one.
    fn sum(&self, one: &Instruction) -> Option<(u8, i64, bool)> {
        use Mnemonic as M;
        let register = |at: u32| one.op_register(at);
        let constant = || one.try_immediate(1).ok().map(|value| value as i64);
        let (source, step) = match one.mnemonic() {
            M::Inc if one.op0_kind() == OpKind::Register => (register(0), 1),
            M::Dec if one.op0_kind() == OpKind::Register => (register(0), -1),
            M::Add if one.op0_kind() == OpKind::Register => (register(0), constant()?),
            M::Sub if one.op0_kind() == OpKind::Register => {
                (register(0), constant()?.wrapping_neg())
            }
            M::Mov if one.op1_kind() == OpKind::Register => (register(1), 0),
            M::Lea if one.memory_index() == Register::None => {
                (one.memory_base(), one.memory_displacement64() as i64)
            }
            _ => return None,
        };
        let size = register(0).size();
        let source = number(source)?;
        let (from, so_far, narrow) = self.registers[usize::from(source)].sum?;
        match size {
            4 => Some((from, so_far.wrapping_add(step), true)),
            8 if !narrow || step == 0 => Some((from, so_far.wrapping_add(step), narrow)),
            _ => None,
        }
    }

    /// How the registers differ from those at the read before; none if the loop does not count, or in a way
    /// that is not known.
    fn changes(&self, written: u16) -> Option<BoundedSpin> {
        let unused = Sum { register: 0, from: 0, step: 0, narrow: false };
        let mut spin = BoundedSpin { sums: [unused; MOST_COUNTERS], len: 0, loaded: 0 };
        let mut counts = false;
        for number in bits(written) {
            let value = self.registers[usize::from(number)];
            if !value.taint.counted {
                spin.loaded |= 1 << number;
                continue;
            }
            let (from, step, narrow) = value.sum?;
            counts |= from == number && step != 0;
            *spin.sums.get_mut(usize::from(spin.len))? =
                Sum { register: number, from, step, narrow };
            spin.len += 1;
        }
        counts.then_some(spin)
    }
}

/// Sets of the lowest bytes of registers (the low 16 bits) and of their other bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Parts(u32);

impl Parts {
    fn of(registers: u16) -> Parts {
        Parts(u32::from(registers) << 16 | u32::from(registers))
    }

    fn any(self, registers: u16) -> bool {
        self.0 & Parts::of(registers).0 != 0
    }

    /// What an instruction may read, and what it certainly overwrites.
    fn used(factory: &mut InstructionInfoFactory, one: &Instruction) -> (Parts, Parts) {
        let (mut read, mut written) = (0, 0);
        for used in factory.info(one).used_registers() {
            let register = used.register();
            let Some(number) = number(register) else { continue };
            let all = Parts::of(1 << number).0;
            let is_second =
                matches!(register, Register::AH | Register::BH | Register::CH | Register::DH);
            let (lowest, others) = (all & 0xffff, all & !0xffff);
            if !matches!(used.access(), OpAccess::Write | OpAccess::CondWrite) {
                read |= match register.size() {
                    1 if is_second => others,
                    1 => lowest,
                    _ => all,
                };
            }
            if matches!(used.access(), OpAccess::Write | OpAccess::ReadWrite) {
                written |= match register.size() {
                    1 if is_second => 0,
                    1 | 2 => lowest,
                    _ => all,
                };
            }
        }
        (Parts(read), Parts(written))
    }
}

/// Where the function continues behind an instruction; nowhere behind a call, whose effect is to be regarded.
fn next(one: &Instruction) -> impl Iterator<Item = u64> {
    let (continues, branches) = match one.flow_control() {
        FlowControl::Next => (true, false),
        FlowControl::UnconditionalBranch => (false, true),
        FlowControl::ConditionalBranch => (true, true),
        _ => (false, false),
    };
    let branch = branches.then(|| one.near_branch_target());
    branch.into_iter().chain(continues.then(|| one.next_ip()))
}

/// What the code behind a loop does with registers.
struct Behind<'code> {
    function: &'code [Instruction],
    is_void: bool,
}

impl Behind<'_> {
    /// Whether none of these registers is read on any way from an address, before it is written.
    fn is_unused(&self, start: u64, registers: u16) -> bool {
        let mut factory = InstructionInfoFactory::new();
        let mut seen: HashMap<usize, Parts> = HashMap::new();
        let mut ahead = vec![(start, Parts::of(registers))];
        let mut returns_second = None;
        while let Some((address, parts)) = ahead.pop() {
            if parts == Parts(0) {
                continue;
            }
            let Some(at) = position(self.function, address) else {
                // Another function continues here, or the function's other part.
                if parts.any(ARGUMENTS | PRESERVED) {
                    return false;
                }
                continue;
            };
            let known = seen.entry(at).or_default();
            if parts.0 & !known.0 == 0 {
                continue;
            }
            known.0 |= parts.0;
            if seen.len() > MOST_FOLLOWED {
                return false;
            }
            let one = &self.function[at];
            let (read, overwritten) = Parts::used(&mut factory, one);
            if read.0 & parts.0 != 0 {
                return false;
            }
            let left = Parts(parts.0 & !overwritten.0);
            ahead.extend(next(one).map(|address| (address, left)));
            match one.flow_control() {
                FlowControl::Next
                | FlowControl::UnconditionalBranch
                | FlowControl::ConditionalBranch => {}
                FlowControl::Call | FlowControl::IndirectCall => {
                    let is_system = one.mnemonic() == Mnemonic::Syscall;
                    if left.any(if is_system { SYSTEM_ARGUMENTS } else { ARGUMENTS }) {
                        return false;
                    }
                    ahead.push((one.next_ip(), Parts(left.0 & Parts::of(PRESERVED).0)));
                }
                FlowControl::Return => {
                    if left.any(PRESERVED) || left.any(1 << RAX) && !self.is_void {
                        return false;
                    }
                    let returns = || self.returns_second(&mut InstructionInfoFactory::new());
                    if left.any(1 << RDX)
                        && !self.is_void
                        && *returns_second.get_or_insert_with(returns)
                    {
                        return false;
                    }
                }
                // The program ends, as at `ud2`.
                FlowControl::Exception => {}
                FlowControl::Interrupt if one.mnemonic() == Mnemonic::Int3 => {}
                FlowControl::Interrupt
                | FlowControl::IndirectBranch
                | FlowControl::XbeginXabortXend => return false,
            }
        }
        true
    }

    /// Whether the function may return a value in rdx. It does not if it returns, on some way, what a call
    /// left there, although it replaces that call's result in rax.
    fn returns_second(&self, factory: &mut InstructionInfoFactory) -> bool {
        let mut seen: HashMap<usize, u8> = HashMap::new();
        let is_call = |one: &&Instruction| {
            matches!(one.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        };
        let calls = self.function.iter().filter(is_call);
        let mut ahead: Vec<(u64, bool)> = calls.map(|call| (call.next_ip(), false)).collect();
        while let Some((address, is_replaced)) = ahead.pop() {
            let Some(at) = position(self.function, address) else { continue };
            let known = seen.entry(at).or_default();
            if *known & 1 << u8::from(is_replaced) != 0 {
                continue;
            }
            *known |= 1 << u8::from(is_replaced);
            let one = &self.function[at];
            // A use of rdx would be of a second result of the call.
            let (read, written) = (inputs(factory, one), outputs(factory, one));
            if (read | written) & 1 << RDX != 0 {
                continue;
            }
            let is_replaced = is_replaced || written & 1 << RAX != 0;
            ahead.extend(next(one).map(|address| (address, is_replaced)));
            if one.flow_control() == FlowControl::Return && is_replaced {
                return false;
            }
        }
        true
    }
}

/// Whether an instruction of a loop does nothing but compute in general registers, branch, or read one word.
fn is_simple(one: &Instruction) -> bool {
    use Mnemonic as M;
    let is_general = |at: u32| match one.op_kind(at) {
        OpKind::Register => number(one.op_register(at)).is_some(),
        _ => true,
    };
    let computes = matches!(
        one.mnemonic(),
        M::Mov
            | M::Movzx
            | M::Movsx
            | M::Movsxd
            | M::Lea
            | M::Add
            | M::Sub
            | M::Inc
            | M::Dec
            | M::Neg
            | M::Not
            | M::And
            | M::Or
            | M::Xor
            | M::Cmp
            | M::Test
            | M::Bt
            | M::Nop
            | M::Pause
            | M::Jmp
    );
    // Conditional jumps, moves and settings; `loop` and `jrcxz` test a register.
    let is_conditional = one.condition_code() != ConditionCode::None
        && (one.flow_control() == FlowControl::Next || one.is_jcc_short_or_near());
    // By a count of 0 they leave the flags as they are.
    let shifts = matches!(one.mnemonic(), M::Shl | M::Shr | M::Sar)
        && one.op1_kind() == OpKind::Immediate8
        && one.immediate8() & 31 != 0;
    (computes || shifts || is_conditional) && (0..one.op_count()).all(is_general)
}

fn accesses_memory(factory: &mut InstructionInfoFactory, one: &Instruction) -> bool {
    // `lea` and long forms of `nop` have a memory operand, too.
    let is_access = |access: OpAccess| !matches!(access, OpAccess::None | OpAccess::NoMemAccess);
    factory.info(one).used_memory().iter().any(|memory| is_access(memory.access()))
}

/// Whether an instruction reads one word and writes none.
fn is_read(one: &Instruction) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(one);
    let [memory] = info.used_memory() else { return false };
    memory.access() == OpAccess::Read
        && memory.memory_size().size() <= 8
        && one.segment_prefix() == Register::None
        && !one.has_lock_prefix()
}

/// The number of a general register, of any size.
fn number(register: Register) -> Option<u8> {
    register.is_gpr().then(|| register.full_register().number() as u8)
}

fn registers(all: &[Register]) -> u16 {
    all.iter().filter_map(|&one| number(one)).fold(0, |bits, number| bits | 1 << number)
}

fn bits(set: u16) -> impl Iterator<Item = u8> {
    (0..16).filter(move |number| set >> number & 1 != 0)
}

/// The general registers that an instruction may read. One that is written in part is read, too.
fn inputs(factory: &mut InstructionInfoFactory, one: &Instruction) -> u16 {
    used(factory, one, |access, register| {
        let reads = matches!(
            access,
            OpAccess::Read
                | OpAccess::CondRead
                | OpAccess::ReadWrite
                | OpAccess::ReadCondWrite
                | OpAccess::CondWrite
        );
        reads || access == OpAccess::Write && register.size() < 4
    })
}

/// The general registers that an instruction may write.
fn outputs(factory: &mut InstructionInfoFactory, one: &Instruction) -> u16 {
    used(factory, one, |access, _| {
        matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    })
}

fn used(
    factory: &mut InstructionInfoFactory,
    one: &Instruction,
    counts: impl Fn(OpAccess, Register) -> bool,
) -> u16 {
    let used = factory.info(one).used_registers();
    let counted = used.iter().filter(|one| counts(one.access(), one.register()));
    counted.filter_map(|one| number(one.register())).fold(0, |bits, number| bits | 1 << number)
}
