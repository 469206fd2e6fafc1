//! Finds the variable that a memory location belongs to, and which part of it, by DWARF types:
//! `queue.lock`, `fork_[2]`, `main::pool.m`.
//!
//! The internals of library types do not appear in names: a `std::mutex` has the program's name for
//! it, not the C library's name for the structure in it.

use super::memory::Words;
use super::names;
use super::registers::Registers;
use gimli::{
    AttributeValue, DebugInfoOffset, DebuggingInformationEntry, EndianSlice, EvaluationResult,
    Expression, LittleEndian, Location, Reader, Section, UnitOffset, UnitRef, Value,
    constants as dw,
};
use std::collections::HashMap;

/// DWARF sections of a mapped file.
pub(super) type Slice = EndianSlice<'static, LittleEndian>;
pub(super) type Entry = DebuggingInformationEntry<Slice>;

/// The deepest nesting of types to follow.
pub(super) const DEEPEST: u32 = 32;
/// With more debug information than this, variables are not indexed.
const MOST: u64 = 32 << 20;

/// A function's frame on a task's stack.
pub(super) struct Frame<'a> {
    /// An address in the function, as in its file.
    pub(super) address: u64,
    /// The registers in the frame.
    pub(super) registers: &'a Registers,
    /// The end of the frame: the caller's stack pointer.
    pub(super) end: u64,
}

/// The static variables of a file and their types.
#[derive(Default)]
pub(super) struct Statics {
    /// By the variable's address.
    types: HashMap<u64, (DebugInfoOffset, UnitOffset)>,
    /// The addresses of the variables of each unqualified name.
    named: HashMap<String, Vec<u64>>,
}

impl Statics {
    /// Indexes a file, unless it is too large.
    pub(super) fn of(dwarf: &gimli::Dwarf<Slice>) -> Statics {
        let mut statics = Statics::default();
        if dwarf.debug_info.reader().len() as u64 <= MOST {
            let mut units = dwarf.units();
            while let Ok(Some(header)) = units.next() {
                let at = header.debug_info_offset();
                if let (Some(at), Ok(unit)) = (at, dwarf.unit(header)) {
                    statics.add(at, unit.unit_ref(dwarf));
                }
            }
        }
        statics
    }

    fn add(&mut self, at: DebugInfoOffset, unit: UnitRef<'_, Slice>) {
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            if entry.tag() != dw::DW_TAG_variable {
                continue;
            }
            let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(dw::DW_AT_location)
            else {
                continue;
            };
            let mut operations = expression.operations(unit.encoding());
            if let Ok(Some(gimli::Operation::Address { address })) = operations.next()
                && let Ok(None) = operations.next()
                && let Some(kind) = type_of(unit, entry)
            {
                self.types.insert(address, (at, kind));
                if let Some(name) = name(unit, entry, 0) {
                    self.named.entry(name).or_default().push(address);
                }
            }
        }
    }

    /// The part of the variable at `address` that is `offset` bytes into it, as in `.lock`.
    pub(super) fn part(
        &self,
        dwarf: &gimli::Dwarf<Slice>,
        address: u64,
        offset: u64,
    ) -> Option<String> {
        let (at, kind) = *self.types.get(&address)?;
        let unit = dwarf.unit(dwarf.unit_header(at).ok()?).ok()?;
        let unit = unit.unit_ref(dwarf);
        (offset < size(unit, kind, 0)?).then(|| part(unit, kind, offset))
    }

    /// The addresses and types of all variables.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, (DebugInfoOffset, UnitOffset))> + '_ {
        self.types.iter().map(|(&address, &kind)| (address, kind))
    }

    /// The address and type of a variable with this name. Of several, the one with the lowest
    /// address, so that the choice is stable.
    pub(super) fn find(&self, name: &str) -> Option<(u64, DebugInfoOffset, UnitOffset)> {
        // `shop::till` is indexed by its last part.
        let last = name.rsplit("::").next()?;
        let address = *self.named.get(last)?.iter().min()?;
        let (at, kind) = *self.types.get(&address)?;
        Some((address, at, kind))
    }
}

/// The scopes around a variable, outermost first: depth, and name if there is one.
type Scopes = Vec<(isize, Option<String>)>;

/// Visits a variable with its scopes and the function's frame base. Returns whether to continue.
type More<'a> = dyn FnMut(&Entry, &Scopes, Option<&AttributeValue<Slice>>) -> bool + 'a;

/// Visits the local variables visible at a code address, outermost first, until `more` returns false.
/// `function` is the function's description.
fn each_local(unit: UnitRef<'_, Slice>, function: UnitOffset, address: u64, more: &mut More<'_>) {
    let Ok(mut entries) = unit.entries_at_offset(function) else { return };
    // The function and the inner scopes that contain the frame's address.
    let mut scopes = Scopes::new();
    let mut base = None;
    let mut outside = None;
    while let Ok(Some(entry)) = entries.next_dfs() {
        let depth = entry.depth();
        if outside.is_some_and(|outer| depth > outer) {
            continue;
        }
        outside = None;
        while scopes.last().is_some_and(|(scope, _)| *scope >= depth) {
            scopes.pop();
            if scopes.is_empty() {
                return;
            }
        }
        match entry.tag() {
            dw::DW_TAG_subprogram | dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine => {
                if !covers(unit, entry, address) {
                    outside = Some(depth);
                    continue;
                }
                if scopes.is_empty() {
                    base = entry.attr_value(dw::DW_AT_frame_base);
                }
                let is_block = entry.tag() == dw::DW_TAG_lexical_block;
                scopes.push((depth, if is_block { None } else { name(unit, entry, 0) }));
            }
            dw::DW_TAG_variable | dw::DW_TAG_formal_parameter
                if !scopes.is_empty() && !more(entry, &scopes, base.as_ref()) =>
            {
                return;
            }
            _ => {}
        }
    }
}

/// Visits the local variables visible at a code address, each with the function's frame base; inner
/// scopes come last.
pub(super) fn each_named_local(
    unit: UnitRef<'_, Slice>,
    function: UnitOffset,
    address: u64,
    visit: &mut dyn FnMut(&Entry, Option<&AttributeValue<Slice>>),
) {
    each_local(unit, function, address, &mut |entry, _, base| {
        visit(entry, base);
        true
    });
}

/// The expression of a location that is valid at a code address.
pub(super) fn location_at(
    unit: UnitRef<'_, Slice>,
    location: AttributeValue<Slice>,
    address: u64,
) -> Option<Expression<Slice>> {
    expression(unit, location, address)
}

/// The local variable of a frame that contains an address of the process:
/// `function::variable.part`.
pub(super) fn local(
    unit: UnitRef<'_, Slice>,
    function: UnitOffset,
    frame: &Frame<'_>,
    words: &Words<'_>,
    wanted: u64,
) -> Option<String> {
    let look = |entry: &Entry, scopes: &Scopes, base: Option<&AttributeValue<Slice>>| {
        let location = entry.attr_value(dw::DW_AT_location)?;
        let expression = expression(unit, location, frame.address)?;
        let Storage::Memory(start) = evaluate(unit, expression, frame, words, base)? else {
            return None;
        };
        let kind = type_of(unit, entry)?;
        let size = size(unit, kind, 0)?;
        if !(start..start.saturating_add(size)).contains(&wanted) {
            return None;
        }
        Some(full_name(unit, entry, scopes)? + &part(unit, kind, wanted - start))
    };
    let mut found = None;
    each_local(unit, function, frame.address, &mut |entry, scopes, base| {
        found = look(entry, scopes, base);
        found.is_none()
    });
    found
}

/// `function::variable`.
fn full_name(unit: UnitRef<'_, Slice>, entry: &Entry, scopes: &Scopes) -> Option<String> {
    let variable = name(unit, entry, 0)?;
    let function = scopes.iter().rev().find_map(|(_, name)| name.clone());
    Some(match function {
        Some(function) => format!("{function}::{variable}"),
        None => variable,
    })
}

/// A variable of a frame.
pub(super) struct Local {
    /// `function::variable`.
    pub(super) name: String,
    pub(super) place: Storage,
    /// Its type.
    pub(super) kind: (DebugInfoOffset, UnitOffset),
}

/// The variables visible in a frame.
pub(super) fn locals(
    unit: UnitRef<'_, Slice>,
    function: UnitOffset,
    frame: &Frame<'_>,
    words: &Words<'_>,
) -> Vec<Local> {
    let mut found = Vec::new();
    let Some(at) = unit.header.debug_info_offset() else { return found };
    each_local(unit, function, frame.address, &mut |entry, scopes, base| {
        let local = || {
            let location = entry.attr_value(dw::DW_AT_location)?;
            let expression = expression(unit, location, frame.address)?;
            let place = evaluate(unit, expression, frame, words, base)?;
            let kind = (at, type_of(unit, entry)?);
            Some(Local { name: full_name(unit, entry, scopes)?, place, kind })
        };
        found.extend(local());
        true
    });
    found
}

/// The description of the function at an address.
pub(super) fn function_at(unit: UnitRef<'_, Slice>, address: u64) -> Option<UnitOffset> {
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if entry.tag() == dw::DW_TAG_subprogram && covers(unit, entry, address) {
            return Some(entry.offset());
        }
    }
    None
}

/// The storage of a variable's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Storage {
    /// The value is in memory at this address.
    Memory(u64),
    /// The value is in a register, with this number of DWARF, from this byte on.
    Register { number: u16, offset: u64, word: u64 },
    /// The value is a constant, or is computed from others.
    Value(u64),
}

impl Storage {
    /// The first bytes of a value that is not in memory.
    pub(super) fn word(self) -> Option<u64> {
        match self {
            Storage::Memory(_) => None,
            Storage::Register { word, .. } | Storage::Value(word) => Some(word),
        }
    }
}

/// The local variable of a name in a frame: its type and storage. No storage if the compiler does
/// not store it at this instruction.
pub(super) fn local_called(
    unit: UnitRef<'_, Slice>,
    function: UnitOffset,
    frame: &Frame<'_>,
    words: &Words<'_>,
    wanted: &str,
) -> Option<(UnitOffset, Option<Storage>)> {
    let mut found = None;
    each_local(unit, function, frame.address, &mut |entry, _, base| {
        if name(unit, entry, 0).is_some_and(|name| name == wanted)
            && let Some(kind) = type_of(unit, entry)
        {
            let place = || {
                if let Some(value) = entry.attr_value(dw::DW_AT_const_value) {
                    let value = value.udata_value().or(value.sdata_value().map(|it| it as u64));
                    return value.map(Storage::Value);
                }
                let location = entry.attr_value(dw::DW_AT_location)?;
                let expression = expression(unit, location, frame.address)?;
                evaluate(unit, expression, frame, words, base)
            };
            // A variable of an inner scope comes later and hides an outer one.
            found = Some((kind, place()));
        }
        true
    });
    found
}

/// Whether an address belongs to a function or block.
fn covers(unit: UnitRef<'_, Slice>, entry: &Entry, address: u64) -> bool {
    let Ok(mut ranges) = unit.die_ranges(entry) else { return false };
    while let Ok(Some(range)) = ranges.next() {
        if (range.begin..range.end).contains(&address) {
            return true;
        }
    }
    false
}

/// The expression of a location that is valid at a code address.
fn expression(
    unit: UnitRef<'_, Slice>,
    location: AttributeValue<Slice>,
    address: u64,
) -> Option<Expression<Slice>> {
    if let AttributeValue::Exprloc(expression) = location {
        return Some(expression);
    }
    let mut entries = unit.attr_locations(location).ok()??;
    while let Ok(Some(entry)) = entries.next() {
        if (entry.range.begin..entry.range.end).contains(&address) {
            return Some(entry.data);
        }
    }
    None
}

fn evaluate(
    unit: UnitRef<'_, Slice>,
    expression_: Expression<Slice>,
    frame: &Frame<'_>,
    words: &Words<'_>,
    base: Option<&AttributeValue<Slice>>,
) -> Option<Storage> {
    let mut evaluation = expression_.evaluation(unit.encoding());
    evaluation.set_max_iterations(1000);
    let mut result = evaluation.evaluate().ok()?;
    loop {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = frame.registers.get(register.0)?;
                evaluation.resume_with_register(Value::Generic(value)).ok()?
            }
            EvaluationResult::RequiresCallFrameCfa => {
                evaluation.resume_with_call_frame_cfa(frame.end).ok()?
            }
            EvaluationResult::RequiresFrameBase => {
                let base = expression(unit, *base?, frame.address)?;
                let base = evaluate_base(unit, base, frame, words)?;
                evaluation.resume_with_frame_base(base).ok()?
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let value = words.get(address, usize::from(size))?;
                evaluation.resume_with_memory(Value::Generic(value)).ok()?
            }
            _ => return None,
        };
    }
    match evaluation.as_result() {
        [piece] if piece.size_in_bits.is_none() => match piece.location {
            Location::Address { address } => Some(Storage::Memory(address)),
            Location::Register { register: gimli::Register(number) } => frame
                .registers
                .get(number)
                .map(|word| Storage::Register { number, offset: 0, word }),
            Location::Value { value } => value.to_u64(u64::MAX).ok().map(Storage::Value),
            _ => None,
        },
        _ => None,
    }
}

/// The frame base: the value of an expression, or the content of a register.
fn evaluate_base(
    unit: UnitRef<'_, Slice>,
    base: Expression<Slice>,
    frame: &Frame<'_>,
    words: &Words<'_>,
) -> Option<u64> {
    let mut operations = base.operations(unit.encoding());
    if let Ok(Some(gimli::Operation::Register { register })) = operations.next() {
        return frame.registers.get(register.0);
    }
    match evaluate(unit, base, frame, words, None)? {
        Storage::Memory(address) => Some(address),
        value => value.word(),
    }
}

/// The name of a function or variable, possibly from its declaration.
pub(super) fn name(unit: UnitRef<'_, Slice>, entry: &Entry, depth: u32) -> Option<String> {
    if let Some(name) = entry.attr_value(dw::DW_AT_name) {
        let name = unit.attr_string(name).ok()?;
        return Some(names::demangle(&name.to_string_lossy()));
    }
    let declared = declaration(unit, entry).filter(|_| depth < DEEPEST)?;
    name(unit, &declared, depth + 1)
}

/// The declaration or abstract origin of an entry.
fn declaration(unit: UnitRef<'_, Slice>, entry: &Entry) -> Option<Entry> {
    let link = [dw::DW_AT_abstract_origin, dw::DW_AT_specification]
        .into_iter()
        .find_map(|link| entry.attr_value(link))?;
    match link {
        AttributeValue::UnitRef(at) => unit.entry(at).ok(),
        _ => None,
    }
}

/// The type of a variable.
pub(super) fn type_of(unit: UnitRef<'_, Slice>, entry: &Entry) -> Option<UnitOffset> {
    let of = |entry: &Entry| match entry.attr_value(dw::DW_AT_type)? {
        AttributeValue::UnitRef(at) => Some(at),
        _ => None,
    };
    of(entry).or_else(|| of(&declaration(unit, entry)?))
}

/// A type without typedefs and qualifiers, and whether one of the typedefs is opaque.
pub(super) fn bare(unit: UnitRef<'_, Slice>, mut kind: UnitOffset) -> Option<(Entry, bool)> {
    for _ in 0..DEEPEST {
        let entry = unit.entry(kind).ok()?;
        let is_named = |entry: &Entry| {
            let name = entry.attr_value(dw::DW_AT_name);
            name.and_then(|name| unit.attr_string(name).ok())
                .is_some_and(|name| is_opaque(&name.to_string_lossy()))
        };
        match entry.tag() {
            dw::DW_TAG_typedef if is_named(&entry) => return Some((entry, true)),
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_atomic_type
            | dw::DW_TAG_restrict_type => kind = type_of(unit, &entry)?,
            _ => {
                let opaque = is_named(&entry);
                return Some((entry, opaque));
            }
        }
    }
    None
}

/// Whether the internals of a type belong to a library.
pub(super) fn is_opaque(name: &str) -> bool {
    const WHOLE: [&str; 9] =
        ["sem_t", "mtx_t", "cnd_t", "Condvar", "Once", "Barrier", "once_flag", "mutex", "Parker"];
    const FIRST: [&str; 9] = [
        "pthread_",
        "Mutex<",
        "RwLock<",
        "OnceLock<",
        "LazyLock<",
        "Atomic",
        "UnsafeCell<",
        "Cell<",
        "atomic<",
    ];
    WHOLE.contains(&name) || FIRST.iter().any(|first| name.starts_with(first))
}

/// The size of a type in bytes.
pub(super) fn size(unit: UnitRef<'_, Slice>, kind: UnitOffset, depth: u32) -> Option<u64> {
    let mut entry = unit.entry(kind).ok()?;
    for _ in 0..DEEPEST {
        if let Some(size) = entry.attr_value(dw::DW_AT_byte_size) {
            return size.udata_value();
        }
        if entry.tag() == dw::DW_TAG_array_type {
            let element = type_of(unit, &entry).filter(|_| depth < DEEPEST)?;
            let counts = counts(unit, &entry)?;
            let element = size(unit, element, depth + 1)?;
            return counts.iter().try_fold(element, |size, count| size.checked_mul(*count));
        }
        entry = unit.entry(type_of(unit, &entry)?).ok()?;
    }
    None
}

/// The number of elements in each dimension of an array.
pub(super) fn counts(unit: UnitRef<'_, Slice>, array: &Entry) -> Option<Vec<u64>> {
    let mut counts = Vec::new();
    children(unit, array, &mut |child| {
        if child.tag() == dw::DW_TAG_subrange_type {
            let number = |name| child.attr_value(name).and_then(|value| value.udata_value());
            let last = || number(dw::DW_AT_upper_bound)?.checked_add(1);
            counts.push(number(dw::DW_AT_count).or_else(last));
        }
    });
    counts.into_iter().collect()
}

pub(super) fn children(unit: UnitRef<'_, Slice>, of: &Entry, visit: &mut dyn FnMut(&Entry)) {
    let Ok(mut tree) = unit.entries_tree(Some(of.offset())) else { return };
    let Ok(root) = tree.root() else { return };
    let mut children = root.children();
    while let Ok(Some(child)) = children.next() {
        visit(child.entry());
    }
}

/// The path to the part of a value at `offset`: `.member`, `[3]`, and the remaining offset.
pub(super) fn part(unit: UnitRef<'_, Slice>, mut kind: UnitOffset, mut offset: u64) -> String {
    let mut text = String::new();
    for _ in 0..DEEPEST {
        let Some((next, left)) = step(unit, kind, offset, &mut text) else { break };
        (kind, offset) = (next, left);
    }
    if offset > 0 {
        text.push_str(&format!("+0x{offset:x}"));
    }
    text
}

/// Descends one level: the type of the part, and the offset in it.
fn step(
    unit: UnitRef<'_, Slice>,
    kind: UnitOffset,
    offset: u64,
    text: &mut String,
) -> Option<(UnitOffset, u64)> {
    let (entry, opaque) = bare(unit, kind)?;
    if opaque {
        return None;
    }
    if entry.tag() == dw::DW_TAG_array_type {
        let element = type_of(unit, &entry)?;
        let size = size(unit, element, 0).filter(|&size| size > 0)?;
        let mut index = offset / size;
        let mut indices = Vec::new();
        for count in counts(unit, &entry)?.iter().rev() {
            indices.push(index.checked_rem(*count)?);
            index /= count;
        }
        for index in indices.iter().rev() {
            text.push_str(&format!("[{index}]"));
        }
        return Some((element, offset % size));
    }
    let mut found = None;
    children(unit, &entry, &mut |child| {
        let is_base = child.tag() == dw::DW_TAG_inheritance;
        if found.is_some() || !is_base && child.tag() != dw::DW_TAG_member {
            return;
        }
        let start = match child.attr_value(dw::DW_AT_data_member_location) {
            Some(start) => start.udata_value(),
            // A member of a union.
            None => (entry.tag() == dw::DW_TAG_union_type).then_some(0),
        };
        let Some((start, kind)) = start.zip(type_of(unit, child)) else { return };
        let Some(end) = size(unit, kind, 0).and_then(|size| start.checked_add(size)) else {
            return;
        };
        if (start..end).contains(&offset) {
            let name = if is_base { None } else { name(unit, child, 0) };
            found = Some((name, kind, offset - start));
        }
    });
    let (name, kind, left) = found?;
    match name {
        // The members of a base or of an unnamed member belong to the type itself.
        None => {}
        Some(name) if name.starts_with("_M_") => return None,
        Some(name) if name.starts_with("__") => {
            // The fields of a Rust tuple; other names of this form belong to a library.
            let number = &name[2..];
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            text.push_str(&format!(".{number}"));
        }
        Some(name) => text.push_str(&format!(".{name}")),
    }
    Some((kind, left))
}
