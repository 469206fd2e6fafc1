//! Where the program's own code touches memory.
//!
//! Functions are found by the unwinder's tables, which compilers write for all of them and which
//! survive stripping, and decoded from start to end. A function is left alone if anything in it
//! cannot be decoded or one of its branches leads into the middle of an instruction: nothing is ever
//! patched that was not decoded with certainty.

use super::image::{Image, Lands, Listed};
use super::routines::Routines;
use super::targets::{Named, landings};
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register, UsedMemory,
};
use std::collections::HashSet;
use traces::points::Unseen;

/// How far an operand goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// As far as one element.
    Element,
    /// So many bytes as this register says.
    Register(u8),
    /// As far as the text at this register, with the zero at its end.
    String(u8),
}

/// How an operand in memory is addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operand {
    /// The numbers of general registers, or [`NONE`].
    pub(super) base: u8,
    pub(super) index: u8,
    pub(super) scale: u8,
    pub(super) displacement: u64,
    /// In bytes, of one element.
    pub(super) size: u64,
    pub(super) measure: Measure,
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// No register.
pub(super) const NONE: u8 = u8::MAX;

/// An instruction that touches memory which another task might touch.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) address: u64,
    /// The address behind it.
    pub(super) behind: u64,
    /// None where it cannot be told what it touches.
    pub(super) operands: Vec<Operand>,
    /// Whether it reads and writes in one.
    pub(super) atomic: bool,
    /// Whether it does so as often as rcx says.
    pub(super) repeats: bool,
    /// Whether it is of the string instructions, which go by the direction flag.
    pub(super) string: bool,
    /// Whether it addresses by the stack pointer, or by a frame pointer.
    pub(super) stack: bool,
}

/// A function that was decoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Function {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether it is known where in it branches may lead.
    pub(super) certain: bool,
}

/// What was found in one module.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// Ascending by address.
    pub(super) sites: Vec<Site>,
    /// Where code lies, from the first byte to the end of the last page.
    pub(super) text: (u64, u64),
    /// The functions that were decoded, ascending.
    pub(super) functions: Vec<Function>,
    /// Where branches lead, ascending.
    pub(super) targets: Vec<u64>,
    /// Bytes of functions, and of what is between them.
    pub(super) bytes: u64,
    /// Bytes of functions that were decoded.
    pub(super) covered: u64,
    /// Bits of [`Unseen`].
    pub(super) unseen: u64,
}

/// Finds and decodes the program's own code: of the program itself and of its libraries. Where nothing but
/// these instructions is wanted (the addresses behind them, ascending), only the functions that they are in.
pub(super) fn program(wanted: Option<&[u64]>) -> Vec<Code> {
    // What tells of its accesses need not be looked through.
    let silent = |image: &&Image| !image.tells();
    Image::own().iter().filter(silent).map(|image| module(image, wanted)).collect()
}

fn module(image: &Image, wanted: Option<&[u64]>) -> Code {
    let mut code = Code::default();
    let Some(text) = image.text() else { return code };
    code.text = (text.0 & !4095, text.1.next_multiple_of(4096));
    let (mut factory, routines) = (InstructionInfoFactory::new(), Routines::find());
    let Some(functions) = image.functions(text).filter(|functions| !functions.is_empty()) else {
        code.bytes = text.1 - text.0;
        code.unseen = Unseen::Unlisted as u64;
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
            // It was decoded when they were learned.
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
        code.unseen |= Unseen::Undecoded as u64;
    }
    code.targets.extend(named.targets(image, text));
    code.targets.sort_unstable();
    code.targets.dedup();
    families.settle(&mut code.functions);
    // What was left out may branch into the rest.
    code.functions.iter_mut().for_each(|function| function.certain &= wanted.is_none());
    code
}

/// Functions that branch into each other, as the parts do into which a compiler splits one: where branches
/// lead is known of all of them or of none.
#[derive(Default)]
struct Families {
    parent: Vec<usize>,
    /// Branches out of a function: its place, and where to.
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

    /// Where one of a family is uncertain all are.
    fn settle(mut self, functions: &mut [Function]) {
        for (from, target) in std::mem::take(&mut self.out) {
            let to = functions.partition_point(|function| function.start <= target);
            // A branch to where a function begins is a call of it.
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

/// What a function consists of.
struct Decoded {
    sites: Vec<Site>,
    /// Where its branches lead, within it and without.
    branches: Vec<u64>,
    /// Whether it jumps to where a register or memory says.
    jumps: bool,
    /// Whether it computes addresses within itself: a jump may be to so far from there as a table says
    /// that nobody finds.
    labels: bool,
}

/// The sites of one function; none if it is to be left alone.
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
        // A frame pointer is set up right at the start, or not at all.
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
            // One through a fixed place in memory leads to another function.
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

/// A call of a function of the C library that touches memory for the program.
fn call(image: &Image, routines: &Routines, instruction: &Instruction) -> Option<Site> {
    let operands = routines.touched(image, instruction)?;
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

/// What an instruction does to memory that others may see, if anything.
fn site(
    image: &Image,
    factory: &mut InstructionInfoFactory,
    instruction: &Instruction,
    framed: bool,
) -> Option<Site> {
    // Calls and jumps read where they go from memory, which is no operand of theirs.
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
            continue; // the stack's own part of it
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
    // An exchange with memory needs no prefix.
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

/// Instructions that touch the task's own stack at most.
fn is_private(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Enter | Mnemonic::Leave
    )
}

/// Instructions whose addresses depend on more than general registers, or that do more to memory than
/// their operands say.
fn is_strange(instruction: &Instruction) -> bool {
    // The offset in a register reaches beyond the operand; an immediate one does not.
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

/// One operand in memory. The outer `None`: the instruction is to be left alone; the inner: nobody else
/// can notice this operand.
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
        // One that repeats is said to touch memory of no certain size: it is of so many elements.
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
