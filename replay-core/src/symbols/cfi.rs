//! Call frame information: how to find the caller of a frame.

use super::elf_file::{ElfFile, Part};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, EhFrameHdr, Encoding, EndianSlice,
    FrameDescriptionEntry, LittleEndian, RegisterRule, UnwindContext, UnwindExpression,
    UnwindSection,
};
use std::ops::Range;

type Slice<'a> = EndianSlice<'a, LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

/// A DWARF expression.
#[derive(Debug, Clone)]
pub(super) struct Expression {
    pub(super) bytes: Box<[u8]>,
    pub(super) encoding: Encoding,
}

/// The rule for the canonical frame address.
#[derive(Debug, Clone)]
pub(super) enum Cfa {
    Register(u16, i64),
    Expression(Expression),
}

/// The rule for a register of the caller.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    Undefined,
    Same,
    At(i64),
    Is(i64),
    Register(u16),
    AtExpression(Expression),
    IsExpression(Expression),
}

/// The unwinding rules at one code address.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) cfa: Cfa,
    pub(super) rules: Box<[(u16, Rule)]>,
    /// The column of the return address.
    pub(super) return_address: u16,
    /// Whether this is a signal trampoline: its caller was interrupted at any instruction, not at a
    /// call.
    pub(super) signal: bool,
}

/// The row for an address of the file.
pub(super) fn row(image: &ElfFile, address: u64) -> Option<Row> {
    let [header, eh, debug] = &image.frames;
    let bytes = |part: &Part| image.bytes().get(part.bytes.clone()).unwrap_or_default();
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.address).set_eh_frame(eh.address);
    if !eh.bytes.is_empty() {
        let mut section = EhFrame::new(bytes(eh), ENDIAN);
        section.set_address_size(8);
        // The index may be missing or wrong: then scan all entries.
        let found = indexed(&section, &bases, bytes(header), address)
            .or_else(|| scan(&section, &bases, address));
        if let Some(row) = found.and_then(|entry| read(&section, &bases, &entry, address)) {
            return Some(row);
        }
    }
    let mut section = DebugFrame::new(bytes(debug), ENDIAN);
    section.set_address_size(8);
    let entry = scan(&section, &bases, address)?;
    read(&section, &bases, &entry, address)
}

/// The range of the function around an address of the file.
pub(super) fn function(image: &ElfFile, address: u64) -> Option<Range<u64>> {
    let [header, eh, _] = &image.frames;
    let bytes = |part: &Part| image.bytes().get(part.bytes.clone()).unwrap_or_default();
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.address).set_eh_frame(eh.address);
    let mut section = EhFrame::new(bytes(eh), ENDIAN);
    section.set_address_size(8);
    let entry = indexed(&section, &bases, bytes(header), address)
        .or_else(|| scan(&section, &bases, address))?;
    Some(entry.initial_address()..entry.initial_address().checked_add(entry.len())?)
}

fn indexed<'a>(
    section: &EhFrame<Slice<'a>>,
    bases: &BaseAddresses,
    header: &'a [u8],
    address: u64,
) -> Option<FrameDescriptionEntry<Slice<'a>>> {
    let header = EhFrameHdr::new(header, ENDIAN).parse(bases, 8).ok()?;
    let table = header.table()?;
    let pointer = table.lookup(address, bases).ok()?;
    let offset = table.pointer_to_offset(pointer).ok()?;
    let entry = section.fde_from_offset(bases, offset, EhFrame::cie_from_offset).ok()?;
    entry.contains(address).then_some(entry)
}

fn scan<'a, S: UnwindSection<Slice<'a>>>(
    section: &S,
    bases: &BaseAddresses,
    address: u64,
) -> Option<FrameDescriptionEntry<Slice<'a>>> {
    let mut entries = section.entries(bases);
    while let Ok(Some(entry)) = entries.next() {
        if let CieOrFde::Fde(entry) = entry
            && let Ok(entry) = entry.parse(S::cie_from_offset)
            && entry.contains(address)
        {
            return Some(entry);
        }
    }
    None
}

fn read<'a, S: UnwindSection<Slice<'a>>>(
    section: &S,
    bases: &BaseAddresses,
    entry: &FrameDescriptionEntry<Slice<'a>>,
    address: u64,
) -> Option<Row> {
    let mut context = UnwindContext::new();
    let row = entry.unwind_info_for_address(section, bases, &mut context, address).ok()?;
    let encoding = entry.cie().encoding();
    let expression = |expression: &UnwindExpression<usize>| {
        let bytes = expression.get(section).ok()?.0.slice().into();
        Some(Expression { bytes, encoding })
    };
    let cfa = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => Cfa::Register(register.0, *offset),
        CfaRule::Expression(found) => Cfa::Expression(expression(found)?),
    };
    let rules = row.registers().map(|(register, rule)| {
        let rule = match rule {
            RegisterRule::SameValue => Rule::Same,
            RegisterRule::Offset(offset) => Rule::At(*offset),
            RegisterRule::ValOffset(offset) => Rule::Is(*offset),
            RegisterRule::Register(other) => Rule::Register(other.0),
            RegisterRule::Expression(found) => Rule::AtExpression(expression(found)?),
            RegisterRule::ValExpression(found) => Rule::IsExpression(expression(found)?),
            _ => Rule::Undefined,
        };
        Some((register.0, rule))
    });
    Some(Row {
        cfa,
        rules: rules.collect::<Option<_>>()?,
        return_address: entry.cie().return_address_register().0,
        signal: entry.is_signal_trampoline(),
    })
}
