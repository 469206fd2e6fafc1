//! What an instruction of the program accesses, and which of its other effects the runtime has to know.

use crate::instrument::binary::bulk_functions::{Bulk, Kind, StringInstruction};
use crate::instrument::binary::calls::Calls;
use crate::instrument::binary::catalogue::Lasting;
use crate::instrument::binary::image::Image;
use crate::instrument::binary::lock_sites::Exchange;
use crate::instrument::binary::operand::{Measure, NONE, Operand, Search, Target};
use crate::instrument::binary::rust_library::LibraryPart;
use crate::instrument::binary::vector_operand::{self, displacement, general};
use iced_x86::{
    Code as Instructions, Decoder, DecoderOptions, FlowControl, Instruction,
    InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};
use search::reduction::pending::Counting;

/// An instruction that accesses memory which another task might access.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) address: u64,
    /// The address behind it.
    pub(super) behind: u64,
    /// Empty if its accesses cannot be determined.
    pub(super) operands: Vec<Operand>,
    /// The number of the function with unknown effects that it calls, or 0.
    pub(super) unknown_call: u32,
    /// Whether it is an atomic read-modify-write.
    pub(super) atomic: bool,
    /// Whether it is a jump.
    pub(super) jumps: bool,
    /// Whether the accesses are those of the instruction, and not those of a function that it calls.
    pub(super) is_single: bool,
    /// When the function with unknown effects that it calls has them also before there are tasks.
    pub(super) lasting: Option<Lasting>,
    /// Where it leads, if it is a call or jump.
    pub(super) target: Target,
    /// Whether it repeats as often as rcx says.
    pub(super) repeats: bool,
    /// Whether it ends earlier, and by which comparison.
    pub(super) search: Search,
    /// Whether it copies or fills many bytes.
    pub(super) bulk: Bulk,
    /// Whether it is a string instruction, which obeys the direction flag.
    pub(super) string: bool,
    /// Whether it addresses memory by the stack pointer or a frame pointer.
    pub(super) stack: bool,
    /// Whether it is the site of a predicate.
    pub(super) predicate: bool,
    /// How it takes part in Rust's standard library.
    pub(super) library: LibraryPart,
    /// Which exchange of a word of four bytes it is.
    pub(super) exchange: Exchange,
    /// Whether it counts.
    pub(super) counting: Counting,
}

impl Site {
    /// An instruction without accesses.
    pub(super) fn of(instruction: &Instruction) -> Site {
        Site {
            address: instruction.ip(),
            behind: instruction.next_ip(),
            operands: Vec::new(),
            unknown_call: 0,
            atomic: false,
            jumps: is_jump(instruction),
            is_single: instruction.flow_control() == FlowControl::Next,
            lasting: None,
            target: Target::Fixed,
            repeats: false,
            search: Search::None,
            bulk: Bulk::None,
            string: false,
            stack: false,
            predicate: false,
            library: LibraryPart::None,
            exchange: Exchange::None,
            counting: Counting::None,
        }
    }
}

/// The entry of a function of a system library that cannot be decoded: reaching it is reported as a call of
/// an unknown function.
pub(super) fn entered(image: &Image, calls: &Calls<'_>, start: u64, bytes: &[u8]) -> Option<Site> {
    let instruction = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).decode();
    if instruction.is_invalid() {
        return None;
    }
    Some(Site {
        unknown_call: calls.uncovered(image, start)?,
        jumps: false,
        ..Site::of(&instruction)
    })
}

/// A call that has effects beyond the instrumented code.
pub(super) fn call(image: &Image, calls: &Calls<'_>, instruction: &Instruction) -> Option<Site> {
    let call = calls.effects(image, instruction)?;
    Some(Site {
        operands: call.effects.operands,
        unknown_call: call.unknown,
        lasting: call.effects.lasting,
        bulk: call.bulk,
        ..Site::of(instruction)
    })
}

/// Whether it is one of the most frequent instructions, and has no operand in memory. To ask the decoder for the operands
/// takes longer than to decode the instruction.
fn is_of_registers(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    match instruction.mnemonic() {
        M::Lea => true,
        M::Mov
        | M::Movzx
        | M::Movsx
        | M::Movsxd
        | M::Add
        | M::Sub
        | M::Imul
        | M::Inc
        | M::Dec
        | M::Cmp
        | M::Test
        | M::And
        | M::Or
        | M::Xor
        | M::Not
        | M::Neg
        | M::Shl
        | M::Shr
        | M::Sar => {
            let kinds = [instruction.op0_kind(), instruction.op1_kind()];
            !kinds.contains(&OpKind::Memory)
        }
        _ => false,
    }
}

/// The accesses of an instruction to memory that other tasks may see, if any.
pub(super) fn accesses(
    image: &Image,
    factory: &mut InstructionInfoFactory,
    calls: &Calls<'_>,
    instruction: &Instruction,
    (framed, after_sum): (bool, Register),
) -> Option<Site> {
    // Of other instructions than these, only calls and jumps through memory read any: their target.
    let leads = matches!(
        instruction.flow_control(),
        FlowControl::IndirectCall | FlowControl::IndirectBranch
    ) && instruction.op0_kind() == OpKind::Memory;
    let target = target(instruction, after_sum);
    if instruction.flow_control() != FlowControl::Next && !leads && target == Target::Fixed
        || is_private(instruction)
        || target == Target::Fixed && is_of_registers(instruction)
    {
        return None;
    }
    let strange = is_strange(instruction);
    // Nearly all instructions have at most one. An empty list would grow to room for four.
    let (mut operands, mut stack, mut unknown) = (Vec::new(), false, false);
    for memory in factory.info(instruction).used_memory() {
        if matches!(memory.access(), OpAccess::None | OpAccess::NoMemAccess) {
            continue;
        }
        let on_stack = memory.base() == Register::RSP || framed && memory.base() == Register::RBP;
        let operand = match special(instruction, memory) {
            Some(operand) => operand,
            None => match operand(image, instruction, memory) {
                Some(Some(operand)) if !strange => operand,
                Some(None) => continue,
                _ if on_stack => continue,
                _ => {
                    unknown = true;
                    continue;
                }
            },
        };
        let pushes = leads && memory.access() == OpAccess::Write;
        if on_stack && (pushes || matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop))
        {
            continue; // its own access to the stack
        }
        stack |= on_stack;
        operands.reserve_exact(1);
        operands.push(operand);
    }
    let is_clock = matches!(instruction.mnemonic(), Mnemonic::Rdtsc | Mnemonic::Rdtscp);
    if operands.is_empty() && !unknown && !is_clock && !matches!(target, Target::Register(_)) {
        return None;
    }
    // A place in constant memory leads to the same function at all times, and is a linker's entry.
    let target = if leads && operands.is_empty() { Target::Fixed } else { target };
    if unknown {
        operands.clear();
        stack = false;
    }
    // Where a call leads matters also where its operand is the task's own.
    stack &= target == Target::Fixed;
    let unknown_call = match (unknown, is_clock) {
        (true, _) => calls.form(image, instruction),
        (_, true) => calls.clock(image, instruction),
        _ => 0,
    };
    // An exchange with memory is atomic without a prefix.
    let atomic = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
    Some(Site {
        operands,
        unknown_call,
        atomic,
        target,
        repeats: instruction.has_rep_prefix() || instruction.has_repne_prefix(),
        search: search(instruction),
        bulk: bulk(instruction),
        string: instruction.is_string_instruction(),
        stack,
        exchange: Exchange::of(instruction),
        ..Site::of(instruction)
    })
}

fn is_jump(instruction: &Instruction) -> bool {
    matches!(
        instruction.flow_control(),
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch
    )
}

/// Where a call or jump leads. A jump by a register that was computed by an addition, `after_sum`, leads by a
/// table to another part of its function.
fn target(instruction: &Instruction, after_sum: Register) -> Target {
    let is_call = instruction.code() == Instructions::Call_rm64;
    let is_jump = instruction.code() == Instructions::Jmp_rm64;
    match instruction.op0_kind() {
        _ if !is_call && !is_jump => Target::Fixed,
        OpKind::Memory => Target::Memory,
        OpKind::Register if is_jump && instruction.op0_register() == after_sum => Target::Fixed,
        OpKind::Register => Target::Register(instruction.op0_register().number() as u8),
        _ => Target::Fixed,
    }
}

/// What a string instruction does, if it is made element by element: one that is repeated, or that moves an element.
fn bulk(instruction: &Instruction) -> Bulk {
    use Mnemonic as M;
    let repeats = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    let kinds = [instruction.op0_kind(), instruction.op1_kind()];
    let is_plain = |kind| !matches!(kind, OpKind::MemorySegESI | OpKind::MemoryESEDI);
    let is_wide = kinds.into_iter().all(is_plain) && instruction.segment_prefix() == Register::None;
    if !instruction.is_string_instruction() || !is_wide {
        return Bulk::None;
    }
    let search = search(instruction);
    let (kind, size) = match instruction.mnemonic() {
        M::Movsb => (Kind::Move, 1),
        M::Movsw => (Kind::Move, 2),
        M::Movsd => (Kind::Move, 4),
        M::Movsq => (Kind::Move, 8),
        _ if !repeats => return Bulk::None,
        M::Stosb => (Kind::Store, 1),
        M::Stosw => (Kind::Store, 2),
        M::Stosd => (Kind::Store, 4),
        M::Stosq => (Kind::Store, 8),
        M::Cmpsb => (Kind::Compare(search), 1),
        M::Cmpsw => (Kind::Compare(search), 2),
        M::Cmpsd => (Kind::Compare(search), 4),
        M::Cmpsq => (Kind::Compare(search), 8),
        M::Scasb => (Kind::Scan(search), 1),
        M::Scasw => (Kind::Scan(search), 2),
        M::Scasd => (Kind::Scan(search), 4),
        M::Scasq => (Kind::Scan(search), 8),
        _ => return Bulk::None,
    };
    Bulk::Instruction(StringInstruction { kind, size, repeats })
}

/// How an instruction that is repeated searches.
fn search(instruction: &Instruction) -> Search {
    use Mnemonic as M;
    let searches = matches!(
        instruction.mnemonic(),
        M::Scasb | M::Scasw | M::Scasd | M::Scasq | M::Cmpsb | M::Cmpsw | M::Cmpsd | M::Cmpsq
    );
    match () {
        () if !searches || !instruction.is_string_instruction() => Search::None,
        () if instruction.has_repne_prefix() => Search::WhileDifferent,
        () if instruction.has_rep_prefix() => Search::WhileEqual,
        () => Search::None,
    }
}

/// Instructions that access at most the task's own stack.
fn is_private(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Enter | Mnemonic::Leave
    )
}

/// Instructions whose accesses are not known: their extent depends on the processor's state, or their
/// address on registers other than those of [`special`].
fn is_strange(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Xlatb | Mnemonic::Maskmovq | Mnemonic::Maskmovdqu | Mnemonic::Xbegin
    ) || instruction.is_vsib()
        || instruction.op_mask() != Register::None
        || is_bit_of_string(instruction)
        || instruction.is_save_restore_instruction()
}

/// Whether an instruction accesses a bit whose number is in a register: it reaches beyond the operand. (An
/// immediate number does not.)
fn is_bit_of_string(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    matches!(instruction.mnemonic(), M::Bt | M::Bts | M::Btr | M::Btc)
        && instruction.op1_kind() == OpKind::Register
}

/// The operand of an instruction whose address or extent depends on more than the registers of the operand.
fn special(instruction: &Instruction, memory: &UsedMemory) -> Option<Operand> {
    if !matches!(memory.segment(), Register::DS | Register::SS | Register::ES) {
        return None;
    }
    if let Some(operand) = vector_operand::of(instruction, memory) {
        return Some(operand);
    }
    let writes = matches!(memory.access(), OpAccess::ReadWrite | OpAccess::Write);
    let base = general(memory.base())?;
    let (measure, index, displacement, size) = if instruction.mnemonic() == Mnemonic::Xlatb {
        (Measure::Table(0), NONE, 0, 1)
    } else if is_bit_of_string(instruction) {
        let size = memory.memory_size().info().size() as u64;
        let bit = instruction.op1_register().full_register().number() as u8;
        (Measure::Bits(bit), general(memory.index())?, displacement(instruction, memory), size)
    } else {
        return None;
    };
    Some(Operand {
        base,
        index,
        scale: memory.scale() as u8,
        displacement,
        size,
        measure,
        reads: true,
        writes,
        ..Operand::NOTHING
    })
}

/// Whether an operand relative to the thread pointer is in the thread control block: that begins at the
/// pointer, and the program's thread-local variables are below it (x86-64 TLS ABI, variant II).
fn is_control_block(memory: &UsedMemory) -> bool {
    let fixed = memory.base() == Register::None && memory.index() == Register::None;
    fixed && memory.displacement() as i64 >= 0
}

/// Whether an instruction reads the thread pointer, as code does that takes the address of a thread-local
/// variable. Where none does, no other task can access one.
pub(super) fn reads_thread_pointer(instruction: &Instruction) -> bool {
    instruction.segment_prefix() == Register::FS
        && instruction.memory_base() == Register::None
        && instruction.memory_index() == Register::None
        && instruction.memory_displacement64() == 0
}

/// One memory operand. The outer `None`: its access cannot be determined; the inner: no other task
/// can observe it.
#[allow(clippy::option_option, reason = "said above")]
fn operand(
    image: &Image,
    instruction: &Instruction,
    memory: &UsedMemory,
) -> Option<Option<Operand>> {
    let thread_local = memory.segment() == Register::FS;
    // The base of `gs` is not known.
    if memory.segment() == Register::GS {
        return None;
    }
    if thread_local && is_control_block(memory) {
        return Some(None);
    }
    let (reads, writes) = match memory.access() {
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write | OpAccess::CondWrite => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
        OpAccess::None | OpAccess::NoMemAccess => return Some(None),
    };
    let base = general(memory.base())?;
    let index = general(memory.index())?;
    let size = match memory.memory_size().info().size() as u64 {
        // The decoder reports no size for a repeated instruction: its extent is a number of
        // elements.
        0 if instruction.is_string_instruction() => instruction.memory_size().info().size() as u64,
        size => size,
    };
    if size == 0 {
        return None;
    }
    let fixed = base == NONE && index == NONE;
    let displacement = displacement(instruction, memory);
    if fixed && !thread_local && image.is_constant(displacement) {
        return Some(None);
    }
    let scale = memory.scale() as u8;
    let measure = Measure::Element;
    Some(Some(Operand {
        base,
        index,
        scale,
        thread_local,
        displacement,
        size,
        measure,
        reads,
        writes,
        ..Operand::NOTHING
    }))
}
