//! Finds the instructions of the program's own code that access memory.
//!
//! Functions are found by the unwind tables, which compilers write for all functions and which
//! survive stripping, and decoded from start to end. A function is skipped if any byte of it cannot
//! be decoded, or one of its branches leads into the middle of an instruction: only code that was
//! decoded with certainty is patched.

use crate::instrument::binary::branch_targets::{Named, landings};
use crate::instrument::binary::image::{Image, Instrumentation, Lands, Listed};
use crate::instrument::binary::libc_calls::Routines;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register, UsedMemory,
};
use std::collections::HashSet;
use traces::points::InstrumentationGap;

/// The extent of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// One element.
    Element,
    /// As many bytes as this register says.
    Register(u8),
    /// The C string at this register, including the zero.
    String(u8),
}

/// A memory operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operand {
    /// The numbers of general registers, or [`NONE`].
    pub(super) base: u8,
    pub(super) index: u8,
    pub(super) scale: u8,
    pub(super) displacement: u64,
    /// The size of one element in bytes.
    pub(super) size: u64,
    pub(super) measure: Measure,
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// No register.
pub(super) const NONE: u8 = u8::MAX;

/// An instruction that accesses memory which another task might access.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) address: u64,
    /// The address behind it.
    pub(super) behind: u64,
    /// Empty if its accesses cannot be determined.
    pub(super) operands: Vec<Operand>,
    /// Whether it is an atomic read-modify-write.
    pub(super) atomic: bool,
    /// Whether it repeats as often as rcx says.
    pub(super) repeats: bool,
    /// Whether it is a string instruction, which obeys the direction flag.
    pub(super) string: bool,
    /// Whether it addresses memory by the stack pointer or a frame pointer.
    pub(super) stack: bool,
}

/// A decoded function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Function {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether its branch targets are certain to be complete.
    pub(super) certain: bool,
}

/// The result of decoding one module.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// Ascending by address.
    pub(super) sites: Vec<Site>,
    /// The range of the code, in whole pages.
    pub(super) text: (u64, u64),
    /// The decoded functions, ascending.
    pub(super) functions: Vec<Function>,
    /// Branch targets, ascending.
    pub(super) targets: Vec<u64>,
    /// Bytes of functions, and of code between them.
    pub(super) bytes: u64,
    /// Bytes of decoded functions.
    pub(super) covered: u64,
    /// Bits of [`InstrumentationGap`].
    pub(super) unseen: u64,
}

/// Decodes the code of the executable and the program's own libraries. If only some instructions
/// are wanted (the addresses behind them, ascending), only the functions that contain them.
pub(super) fn program(wanted: Option<&[u64]>) -> Vec<Code> {
    // Fully instrumented modules need no probes.
    let needs_probes = |image: &&Image| image.instrumentation() != Instrumentation::Full;
    Image::own().iter().filter(needs_probes).map(|image| module(image, wanted)).collect()
}

fn module(image: &Image, wanted: Option<&[u64]>) -> Code {
    let mut code = Code::default();
    let Some(text) = image.text() else { return code };
    code.text = (text.0 & !4095, text.1.next_multiple_of(4096));
    let (mut factory, routines) = (InstructionInfoFactory::new(), Routines::find());
    let Some(functions) = image.functions(text).filter(|functions| !functions.is_empty()) else {
        code.bytes = text.1 - text.0;
        code.unseen = InstrumentationGap::Unlisted as u64;
        return code;
    };
    let unlisted = image.unlisted(text, &functions);
    code.bytes = unlisted;
    let (mut families, mut named) = (Families::default(), Named::default());
    for listed in functions {
        let Listed { start, end, lands } = listed;
        code.bytes += end - start;
        let within = |wanted: &[u64]| {
            wanted
                .get(wanted.partition_point(|&behind| behind <= start))
                .is_some_and(|&at| at <= end)
        };
        if !wanted.is_none_or(within) {
            // The function was decoded when its sites were learned.
            code.covered += end - start;
            continue;
        }
        let bytes = image.bytes(start).and_then(|bytes| bytes.get(..(end - start) as usize));
        let decoded = bytes.and_then(|bytes| {
            function(image, &mut factory, &routines, &mut named, text, start, bytes)
        });
        let Some(decoded) = decoded else { continue };
        code.covered += end - start;
        code.sites.extend(decoded.sites);
        let landings = match lands {
            Lands::Nowhere => Some(Vec::new()),
            Lands::By(table) => landings(image, table, start),
            Lands::Somewhere => None,
        };
        let certain = landings.is_some() && !(decoded.jumps && decoded.labels);
        code.functions.push(Function { start, end, certain });
        code.targets.push(start);
        code.targets.extend(landings.unwrap_or_default());
        let at = families.parent.len();
        families.parent.push(at);
        let out = decoded.branches.iter().filter(|target| !(start..end).contains(target));
        families.out.extend(out.map(|&target| (at, target)));
        code.targets.extend(decoded.branches);
    }
    if code.covered < code.bytes {
        code.unseen |= InstrumentationGap::Undecoded as u64;
    }
    code.targets.extend(named.targets(image, text));
    code.targets.sort_unstable();
    code.targets.dedup();
    families.settle(&mut code.functions);
    // Functions that were not decoded may branch into decoded ones.
    code.functions.iter_mut().for_each(|function| function.certain &= wanted.is_none());
    code
}

/// Groups of functions that branch into each other, as the parts do into which a compiler splits a
/// function: branch targets are certain for all of a group or for none.
#[derive(Default)]
struct Families {
    parent: Vec<usize>,
    /// Branches out of a function: its index, and the target.
    out: Vec<(usize, u64)>,
}

impl Families {
    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    /// Marks all functions of a group as uncertain if one is.
    fn settle(mut self, functions: &mut [Function]) {
        for (from, target) in std::mem::take(&mut self.out) {
            let to = functions.partition_point(|function| function.start <= target);
            // A branch to the start of a function is a tail call.
            let Some(to) = to.checked_sub(1).filter(|&to| functions[to].start != target) else {
                continue;
            };
            if functions[to].end > target {
                let (from, to) = (self.root(from), self.root(to));
                self.parent[from] = to;
            }
        }
        let mut uncertain = HashSet::new();
        for (at, _) in functions.iter().enumerate().filter(|(_, function)| !function.certain) {
            uncertain.insert(self.root(at));
        }
        for (at, function) in functions.iter_mut().enumerate() {
            function.certain = !uncertain.contains(&self.root(at));
        }
    }
}

/// The contents of a function.
struct Decoded {
    sites: Vec<Site>,
    /// Its branch targets, inside and outside.
    branches: Vec<u64>,
    /// Whether it has indirect jumps.
    jumps: bool,
    /// Whether it computes addresses inside itself. An indirect jump may then add a distance to
    /// such an address that is not found in any table.
    labels: bool,
}

/// Decodes one function; none if it has to be skipped.
fn function(
    image: &Image,
    factory: &mut InstructionInfoFactory,
    routines: &Routines,
    named: &mut Named,
    text: (u64, u64),
    start: u64,
    bytes: &[u8],
) -> Option<Decoded> {
    let end = start + bytes.len() as u64;
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let (mut starts, mut branches) = (HashSet::new(), Vec::new());
    let (mut sites, mut framed, mut jumps, mut labels) = (Vec::new(), false, false, false);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return None;
        }
        // A frame pointer is set up at the start of a function, or not at all.
        framed |= starts.len() < 8
            && instruction.mnemonic() == Mnemonic::Mov
            && instruction.op0_register() == Register::RBP
            && instruction.op1_register() == Register::RSP;
        starts.insert(instruction.ip());
        let label = named.note(image, text, &instruction);
        labels |= label.is_some_and(|label| label != start && (start..end).contains(&label));
        match instruction.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                branches.push(instruction.near_branch_target());
            }
            // A jump through a fixed address in memory leads to another function.
            FlowControl::IndirectBranch => jumps |= !instruction.is_ip_rel_memory_operand(),
            _ => {}
        }
        sites.extend(site(image, factory, &instruction, framed));
        sites.extend(call(image, routines, &instruction));
    }
    let within = branches.iter().filter(|target| (start..end).contains(target));
    let meets = within.into_iter().all(|target| starts.contains(target));
    meets.then_some(Decoded { sites, branches, jumps, labels })
}

/// A call of a C library function that accesses memory on behalf of the program.
fn call(image: &Image, routines: &Routines, instruction: &Instruction) -> Option<Site> {
    let operands = routines.operands_of(image, instruction)?;
    Some(Site {
        address: instruction.ip(),
        behind: instruction.next_ip(),
        operands,
        atomic: false,
        repeats: false,
        string: false,
        stack: false,
    })
}

/// The accesses of an instruction to memory that other tasks may see, if any.
fn site(
    image: &Image,
    factory: &mut InstructionInfoFactory,
    instruction: &Instruction,
    framed: bool,
) -> Option<Site> {
    // Calls and jumps read their target from memory, which is no operand of theirs.
    if instruction.flow_control() != FlowControl::Next || is_private(instruction) {
        return None;
    }
    let strange = is_strange(instruction);
    let (mut operands, mut stack, mut unknown) = (Vec::new(), false, false);
    for memory in factory.info(instruction).used_memory() {
        let on_stack = memory.base() == Register::RSP || framed && memory.base() == Register::RBP;
        let operand = match operand(image, instruction, memory) {
            Some(Some(operand)) if !strange => operand,
            Some(None) => continue,
            _ if on_stack => continue,
            _ => {
                unknown = true;
                continue;
            }
        };
        if on_stack && matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop) {
            continue; // its own access to the stack
        }
        stack |= on_stack;
        operands.push(operand);
    }
    if operands.is_empty() && !unknown {
        return None;
    }
    if unknown {
        operands.clear();
        stack = false;
    }
    // An exchange with memory is atomic without a prefix.
    let atomic = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
    Some(Site {
        address: instruction.ip(),
        behind: instruction.next_ip(),
        operands,
        atomic,
        repeats: instruction.has_rep_prefix() || instruction.has_repne_prefix(),
        string: instruction.is_string_instruction(),
        stack,
    })
}

/// Instructions that access at most the task's own stack.
fn is_private(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Enter | Mnemonic::Leave
    )
}

/// Instructions whose addresses depend on more than general registers, or that access more memory
/// than their operands say.
fn is_strange(instruction: &Instruction) -> bool {
    // A bit offset in a register reaches beyond the operand; an immediate one does not.
    let bits = matches!(
        instruction.mnemonic(),
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
    );
    bits && instruction.op1_kind() == OpKind::Register
        || matches!(
            instruction.mnemonic(),
            Mnemonic::Xlatb | Mnemonic::Maskmovq | Mnemonic::Maskmovdqu | Mnemonic::Xbegin
        )
        || instruction.is_vsib()
        || instruction.is_save_restore_instruction()
}

/// One memory operand. The outer `None`: its access cannot be determined; the inner: no other task
/// can observe it.
#[allow(clippy::option_option, reason = "said above")]
fn operand(
    image: &Image,
    instruction: &Instruction,
    memory: &UsedMemory,
) -> Option<Option<Operand>> {
    if matches!(memory.segment(), Register::FS | Register::GS) {
        return Some(None);
    }
    let (reads, writes) = match memory.access() {
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write | OpAccess::CondWrite => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
        OpAccess::None | OpAccess::NoMemAccess => return Some(None),
    };
    let number = |register: Register| match register {
        Register::None | Register::RIP => Some(NONE),
        register if register.is_gpr64() => Some(register.number() as u8),
        _ => None,
    };
    let base = number(memory.base())?;
    let index = number(memory.index())?;
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
    let displacement = if instruction.is_ip_rel_memory_operand() && fixed {
        instruction.ip_rel_memory_address()
    } else {
        memory.displacement()
    };
    if fixed && image.is_constant(displacement) {
        return Some(None);
    }
    let scale = memory.scale() as u8;
    let measure = Measure::Element;
    Some(Some(Operand { base, index, scale, displacement, size, measure, reads, writes }))
}
