//! Where the program's own code touches memory.
//!
//! Functions are found by the unwinder's tables, which compilers write for all of them and which
//! survive stripping, and decoded from start to end. A function is left alone if anything in it
//! cannot be decoded or one of its branches leads into the middle of an instruction: nothing is ever
//! patched that was not decoded with certainty.

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, LittleEndian, UnwindSection};
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    Register, UsedMemory,
};
use std::collections::HashSet;
use std::ffi::c_void;

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

/// What was found in one module.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// Ascending by address.
    pub(super) sites: Vec<Site>,
    /// Where code lies, from the first byte to the end of the last page.
    pub(super) text: (u64, u64),
}

/// The segments of the program's executable.
#[derive(Debug, Default)]
struct Image {
    base: u64,
    segments: Vec<libc::Elf64_Phdr>,
}

impl Image {
    /// The program's own, which the loader lists first.
    fn of_program() -> Image {
        extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
            // SAFETY: the loader's tables, and our own image.
            unsafe {
                let headers =
                    std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
                *to.cast::<Image>() = Image { base: (*info).dlpi_addr, segments: headers.to_vec() };
            }
            1
        }
        let mut image = Image::default();
        // SAFETY: the callback fills the image in.
        unsafe {
            libc::dl_iterate_phdr(Some(first), (&raw mut image).cast());
        }
        image
    }

    fn range(&self, segment: &libc::Elf64_Phdr) -> (u64, u64) {
        let start = self.base + segment.p_vaddr;
        (start, start + segment.p_memsz)
    }

    fn of_type(&self, kind: u32) -> impl Iterator<Item = &libc::Elf64_Phdr> {
        self.segments.iter().filter(move |segment| segment.p_type == kind)
    }

    /// The bytes from an address to the end of the segment that it lies in.
    fn bytes(&self, address: u64) -> Option<&'static [u8]> {
        let within = |segment: &&libc::Elf64_Phdr| {
            let (start, end) = self.range(segment);
            segment.p_flags & libc::PF_R != 0 && (start..end).contains(&address)
        };
        let (_, end) = self.range(self.of_type(libc::PT_LOAD).find(within)?);
        // SAFETY: mapped and readable for as long as the program runs.
        Some(unsafe { std::slice::from_raw_parts(address as *const u8, (end - address) as usize) })
    }

    /// Whether nothing can change at an address once the program runs.
    fn is_constant(&self, address: u64) -> bool {
        let within = |segment: &libc::Elf64_Phdr| {
            let (start, end) = self.range(segment);
            (start..end).contains(&address)
        };
        self.of_type(libc::PT_GNU_RELRO).any(within)
            || self
                .of_type(libc::PT_LOAD)
                .any(|segment| segment.p_flags & libc::PF_W == 0 && within(segment))
    }

    /// The functions that the unwinder knows: start and end, ascending, none within another.
    fn functions(&self, text: (u64, u64)) -> Option<Vec<(u64, u64)>> {
        let header = self.of_type(libc::PT_GNU_EH_FRAME).next()?;
        let header_at = self.base + header.p_vaddr;
        let bytes = self.bytes(header_at)?.get(..header.p_memsz as usize)?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(header_at).set_text(text.0);
        let parsed = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
        let gimli::Pointer::Direct(frames_at) = parsed.eh_frame_ptr() else { return None };
        let bases = bases.set_eh_frame(frames_at);
        let frames = EhFrame::new(self.bytes(frames_at)?, LittleEndian);
        let mut functions = Vec::new();
        let mut entries = frames.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            let gimli::CieOrFde::Fde(partial) = entry else { continue };
            let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else { continue };
            let (start, len) = (fde.initial_address(), fde.len());
            if len > 0 && start >= text.0 && start + len <= text.1 {
                functions.push((start, start + len));
            }
        }
        functions.sort_unstable();
        functions.dedup_by_key(|function| function.0);
        for at in 1..functions.len() {
            functions[at - 1].1 = functions[at - 1].1.min(functions[at].0);
        }
        Some(functions)
    }
}

/// Finds and decodes the program's own code.
pub(super) fn program() -> Code {
    let image = Image::of_program();
    let mut code = Code::default();
    let executable = |segment: &&libc::Elf64_Phdr| segment.p_flags & libc::PF_X != 0;
    let Some(segment) = image.of_type(libc::PT_LOAD).find(executable) else { return code };
    let text = image.range(segment);
    code.text = (text.0 & !4095, text.1.next_multiple_of(4096));
    let mut factory = InstructionInfoFactory::new();
    for (start, end) in image.functions(text).unwrap_or_default() {
        let Some(bytes) = image.bytes(start).and_then(|bytes| bytes.get(..(end - start) as usize))
        else {
            continue;
        };
        if let Some(sites) = function(&image, &mut factory, start, bytes) {
            code.sites.extend(sites);
        }
    }
    code
}

/// The sites of one function; none if it is to be left alone.
fn function(
    image: &Image,
    factory: &mut InstructionInfoFactory,
    start: u64,
    bytes: &[u8],
) -> Option<Vec<Site>> {
    let end = start + bytes.len() as u64;
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let (mut starts, mut branches) = (HashSet::new(), Vec::new());
    let (mut sites, mut framed) = (Vec::new(), false);
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
        if matches!(
            instruction.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        ) {
            let target = instruction.near_branch_target();
            if (start..end).contains(&target) {
                branches.push(target);
            }
        }
        sites.extend(site(image, factory, &instruction, framed));
    }
    branches.iter().all(|target| starts.contains(target)).then_some(sites)
}

/// What an instruction does to memory that others may see, if anything.
fn site(
    image: &Image,
    factory: &mut InstructionInfoFactory,
    instruction: &Instruction,
    framed: bool,
) -> Option<Site> {
    // Calls and jumps read where they go from memory; they are never moved.
    if instruction.flow_control() != FlowControl::Next || is_strange(instruction) {
        return None;
    }
    let (mut operands, mut stack) = (Vec::new(), false);
    for memory in factory.info(instruction).used_memory() {
        let on_stack = memory.base() == Register::RSP || framed && memory.base() == Register::RBP;
        let Some(operand) = operand(image, instruction, memory)? else { continue };
        if on_stack && matches!(instruction.mnemonic(), Mnemonic::Push | Mnemonic::Pop) {
            continue; // the stack's own part of it
        }
        stack |= on_stack;
        operands.push(operand);
    }
    if operands.is_empty() {
        return None;
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

/// Instructions whose addresses depend on more than general registers, or that do more to memory than
/// their operands say.
fn is_strange(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Nop
            | Mnemonic::Endbr64
            | Mnemonic::Enter
            | Mnemonic::Leave
            | Mnemonic::Xlatb
            | Mnemonic::Bt
            | Mnemonic::Bts
            | Mnemonic::Btr
            | Mnemonic::Btc
            | Mnemonic::Maskmovq
            | Mnemonic::Maskmovdqu
            | Mnemonic::Xbegin
    ) || instruction.is_vsib()
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
    let size = memory.memory_size().info().size() as u64;
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
    Some(Some(Operand { base, index, scale, displacement, size, reads, writes }))
}
