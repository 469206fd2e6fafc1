//! Variables and types, for conditions that are compiled before the program runs: where a variable is
//! at a code address, as code for [`traces::agent_expression`].

use super::cfi::Cfa;
use super::variables::{
    Entry, Slice, children, counts, each_named_local, location_at, name, size, type_of,
};
use gimli::{
    AttributeValue, DebugInfoOffset, Expression, Operation as Op, UnitOffset, UnitRef,
    constants as dw,
};
use traces::predicate::register::THREAD_POINTER;

/// A type: its unit and its description there.
pub type TypeId = (DebugInfoOffset, UnitOffset);

/// A variable or a type: the name by which an error message calls it, and what it consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// The name in the source.
    pub name: String,
    /// The size in bytes, if it has one.
    pub size: Option<u64>,
    /// What it consists of.
    pub shape: Shape,
}

/// The shape of a type, without typedefs and qualifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// An integer, a character or a boolean.
    Integer {
        /// Whether it has negative values.
        signed: bool,
        /// Whether it is a boolean.
        boolean: bool,
    },
    /// A number with a fraction.
    Float,
    /// A pointer or a reference.
    Pointer {
        /// What it points to; none for an untyped one.
        to: Option<TypeId>,
        /// Whether the language follows it implicitly.
        reference: bool,
    },
    /// An array.
    Array {
        /// The type of an element.
        element: TypeId,
        /// How many elements it has, if that is known.
        count: Option<u64>,
    },
    /// A structure, a class or a union.
    Record(Vec<Member>),
    /// An enumeration of Rust whose variants have data.
    Variants {
        /// Which variant it is; none if there is only one.
        discriminant: Option<Member>,
        /// The variants.
        variants: Vec<Variant>,
    },
    /// An enumeration.
    Enumeration {
        /// Whether it has negative values.
        signed: bool,
        /// Names and values.
        values: Vec<(String, u64)>,
    },
    /// Anything else.
    Other,
}

/// A member of a structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name; none for a base class or an unnamed member.
    pub name: Option<String>,
    /// The distance from the start of the structure, in bytes.
    pub offset: u64,
    /// Its type.
    pub kind: TypeId,
    /// If it is some bits of a word: the first bit, from the start of the structure, and their number.
    pub bits: Option<(u64, u64)>,
}

/// A variant of an enumeration with data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// The discriminant; none for the variant that has all values that no other one has.
    pub value: Option<u64>,
    /// The distance of its data from the start of the enumeration, in bytes.
    pub offset: u64,
    /// The type of its data: a structure.
    pub kind: TypeId,
}

/// Code that computes where a variable is, or its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceCode {
    /// The code computes its address.
    Address(Vec<u8>),
    /// The code computes its value: it is in a register or a constant.
    Value(Vec<u8>),
}

/// A variable with static storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticVariable {
    /// Its address in the file; for a thread-local one the offset from the thread pointer.
    pub address: u64,
    /// Whether each thread has its own.
    pub thread_local: bool,
    /// Its type.
    pub kind: TypeId,
}

/// The description of a type.
pub(super) fn describe(unit: UnitRef<'_, Slice>, kind: UnitOffset) -> Option<Described> {
    let at = unit.header.debug_info_offset()?;
    let outer = unit.entry(kind).ok()?;
    let mut entry = outer.clone();
    for _ in 0..super::variables::DEEPEST {
        match entry.tag() {
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_atomic_type
            | dw::DW_TAG_restrict_type => match type_of(unit, &entry) {
                Some(next) => entry = unit.entry(next).ok()?,
                None => break,
            },
            _ => break,
        }
    }
    let title = || name(unit, &outer, 0).or_else(|| name(unit, &entry, 0));
    let encoding = match entry.attr_value(dw::DW_AT_encoding) {
        Some(AttributeValue::Encoding(encoding)) => Some(encoding),
        _ => None,
    };
    let target = || type_of(unit, &entry).map(|to| (at, to));
    let shape = match entry.tag() {
        dw::DW_TAG_base_type => match encoding {
            Some(dw::DW_ATE_signed | dw::DW_ATE_signed_char) => {
                Shape::Integer { signed: true, boolean: false }
            }
            Some(dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF) => {
                Shape::Integer { signed: false, boolean: false }
            }
            Some(dw::DW_ATE_boolean) => Shape::Integer { signed: false, boolean: true },
            Some(dw::DW_ATE_float) => Shape::Float,
            _ => Shape::Other,
        },
        dw::DW_TAG_pointer_type => {
            let title = title().unwrap_or_default();
            let reference = title.starts_with('&') || title.contains("boxed::Box<");
            Shape::Pointer { to: target(), reference }
        }
        dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
            Shape::Pointer { to: target(), reference: true }
        }
        dw::DW_TAG_array_type => {
            let counts = counts(unit, &entry);
            match (target(), counts.as_deref()) {
                (Some(element), Some([count])) => Shape::Array { element, count: Some(*count) },
                (Some(element), None) => Shape::Array { element, count: None },
                _ => Shape::Other,
            }
        }
        dw::DW_TAG_enumeration_type => Shape::Enumeration {
            signed: matches!(
                type_of(unit, &entry).and_then(|of| describe(unit, of)).map(|of| of.shape),
                Some(Shape::Integer { signed: true, .. })
            ),
            values: enumerators(unit, &entry),
        },
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
            variants(unit, at, &entry).unwrap_or_else(|| Shape::Record(members(unit, at, &entry)))
        }
        _ => Shape::Other,
    };
    let shown = title().unwrap_or_else(|| match &shape {
        Shape::Pointer { to: Some(to), .. } => match describe_name(unit, to.1) {
            Some(name) => format!("{name} *"),
            None => "a pointer".to_owned(),
        },
        Shape::Pointer { to: None, .. } => "void *".to_owned(),
        Shape::Array { .. } => "an array".to_owned(),
        Shape::Record(_) => "a structure without a name".to_owned(),
        _ => "a type without a name".to_owned(),
    });
    Some(Described { name: shown, size: size(unit, kind, 0), shape })
}

fn describe_name(unit: UnitRef<'_, Slice>, kind: UnitOffset) -> Option<String> {
    name(unit, &unit.entry(kind).ok()?, 0)
}

fn enumerators(unit: UnitRef<'_, Slice>, entry: &Entry) -> Vec<(String, u64)> {
    let mut values = Vec::new();
    children(unit, entry, &mut |child| {
        let value = child.attr_value(dw::DW_AT_const_value).and_then(|value| {
            value.sdata_value().map(|value| value as u64).or_else(|| value.udata_value())
        });
        if child.tag() == dw::DW_TAG_enumerator
            && let Some((name, value)) = name(unit, child, 0).zip(value)
        {
            values.push((name, value));
        }
    });
    values
}

fn members(unit: UnitRef<'_, Slice>, at: DebugInfoOffset, of: &Entry) -> Vec<Member> {
    let mut members = Vec::new();
    children(unit, of, &mut |child| {
        let is_base = child.tag() == dw::DW_TAG_inheritance;
        if !is_base && child.tag() != dw::DW_TAG_member {
            return;
        }
        let len = child.attr_value(dw::DW_AT_bit_size).and_then(|bits| bits.udata_value());
        let first = child.attr_value(dw::DW_AT_data_bit_offset).and_then(|at| at.udata_value());
        let is_bits = len.is_some();
        let start = match child.attr_value(dw::DW_AT_data_member_location) {
            Some(start) => start.udata_value(),
            None => (of.tag() == dw::DW_TAG_union_type || is_bits).then_some(0),
        };
        if let Some((offset, kind)) = start.zip(type_of(unit, child)) {
            let name = if is_base { None } else { name(unit, child, 0) };
            let bits = len.map(|len| (first.unwrap_or(offset * 8), len));
            members.push(Member { name, offset, kind: (at, kind), bits });
        }
    });
    members
}

/// The variants of an enumeration with data.
fn variants(unit: UnitRef<'_, Slice>, at: DebugInfoOffset, of: &Entry) -> Option<Shape> {
    let offset = |entry: &Entry| {
        entry.attr_value(dw::DW_AT_data_member_location).and_then(|start| start.udata_value())
    };
    let mut shape = None;
    children(unit, of, &mut |part| {
        if part.tag() != dw::DW_TAG_variant_part {
            return;
        }
        let discriminant = match part.attr_value(dw::DW_AT_discr) {
            Some(AttributeValue::UnitRef(to)) => unit.entry(to).ok(),
            _ => None,
        };
        let discriminant = discriminant.and_then(|entry| {
            let kind = (at, type_of(unit, &entry)?);
            Some(Member { name: None, offset: offset(&entry)?, kind, bits: None })
        });
        let mut variants = Vec::new();
        children(unit, part, &mut |variant| {
            if variant.tag() != dw::DW_TAG_variant {
                return;
            }
            let value = variant.attr_value(dw::DW_AT_discr_value).and_then(|value| {
                value.udata_value().or_else(|| value.sdata_value().map(|value| value as u64))
            });
            children(unit, variant, &mut |data| {
                if data.tag() == dw::DW_TAG_member
                    && let Some(name) = name(unit, data, 0)
                    && let Some((offset, kind)) = offset(data).zip(type_of(unit, data))
                {
                    variants.push(Variant { name, value, offset, kind: (at, kind) });
                }
            });
        });
        shape = Some(Shape::Variants { discriminant, variants });
    });
    shape
}

/// The type parameter of a generic type with this name.
pub(super) fn parameter(
    unit: UnitRef<'_, Slice>,
    kind: UnitOffset,
    wanted: &str,
) -> Option<TypeId> {
    let at = unit.header.debug_info_offset()?;
    let entry = unit.entry(kind).ok()?;
    let mut found = None;
    children(unit, &entry, &mut |child| {
        if child.tag() == dw::DW_TAG_template_type_parameter
            && name(unit, child, 0).is_some_and(|name| name == wanted)
        {
            found = found.or_else(|| type_of(unit, child).map(|of| (at, of)));
        }
    });
    found
}

/// The variables with static storage in a unit, with their names.
pub(super) fn each_static(unit: UnitRef<'_, Slice>, visit: &mut dyn FnMut(String, StaticVariable)) {
    let Some(at) = unit.header.debug_info_offset() else { return };
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if entry.tag() != dw::DW_TAG_variable {
            continue;
        }
        let Some(AttributeValue::Exprloc(expression)) = entry.attr_value(dw::DW_AT_location) else {
            continue;
        };
        let mut operations = expression.operations(unit.encoding());
        let (first, second) = (operations.next(), operations.next());
        let place = match (first, second) {
            (Ok(Some(Op::Address { address })), Ok(None)) => Some((address, false)),
            (Ok(Some(Op::UnsignedConstant { value })), Ok(Some(Op::TLS))) => Some((value, true)),
            (Ok(Some(Op::Address { address })), Ok(Some(Op::TLS))) => Some((address, true)),
            _ => None,
        };
        if let Some((address, thread_local)) = place
            && let Some(kind) = type_of(unit, entry)
            && let Some(name) = name(unit, entry, 0)
        {
            visit(name, StaticVariable { address, thread_local, kind: (at, kind) });
        }
    }
}

/// The types of a unit with this name, and enumerators with it.
pub(super) fn named_type(unit: UnitRef<'_, Slice>, wanted: &str) -> Option<TypeId> {
    let at = unit.header.debug_info_offset()?;
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        let is_type = matches!(
            entry.tag(),
            dw::DW_TAG_base_type
                | dw::DW_TAG_typedef
                | dw::DW_TAG_structure_type
                | dw::DW_TAG_class_type
                | dw::DW_TAG_union_type
                | dw::DW_TAG_enumeration_type
        );
        if is_type
            && entry.attr_value(dw::DW_AT_declaration).is_none()
            && name(unit, entry, 0).is_some_and(|name| name == wanted)
        {
            return Some((at, entry.offset()));
        }
    }
    None
}

/// The enumerator with this name: its value.
pub(super) fn enumerator(unit: UnitRef<'_, Slice>, wanted: &str) -> Option<u64> {
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if entry.tag() == dw::DW_TAG_enumeration_type {
            let found = enumerators(unit, entry).into_iter().find(|(name, _)| name == wanted);
            if let Some((_, value)) = found {
                return Some(value);
            }
        }
    }
    None
}

/// A local variable at a code address: its type and where it is, or why that is unknown.
pub(super) struct LocalVariable {
    pub(super) name: String,
    pub(super) kind: TypeId,
    pub(super) place: Option<PlaceCode>,
}

/// The local variables at a code address; those of inner scopes come last.
pub(super) fn locals(
    unit: UnitRef<'_, Slice>,
    function: UnitOffset,
    address: u64,
    cfa: Option<&Cfa>,
) -> Vec<LocalVariable> {
    let mut found = Vec::new();
    let Some(at) = unit.header.debug_info_offset() else { return found };
    each_named_local(unit, function, address, &mut |entry, base| {
        let Some((name, kind)) = name(unit, entry, 0).zip(type_of(unit, entry)) else { return };
        let place = || {
            if let Some(value) = entry.attr_value(dw::DW_AT_const_value) {
                let value = value.udata_value().or(value.sdata_value().map(|it| it as u64))?;
                let mut code = Vec::new();
                constant(&mut code, value);
                return Some(PlaceCode::Value(code));
            }
            let location = entry.attr_value(dw::DW_AT_location)?;
            let is_list =
                !matches!(location, AttributeValue::Exprloc(_) | AttributeValue::Block(_));
            let expression = location_at(unit, location, address)?;
            if is_list && is_of_gcc(unit) && is_of_others(unit, expression) && is_scalar(unit, kind)
            {
                return None;
            }
            let base = base.and_then(|base| location_at(unit, *base, address));
            translate(unit, expression, base.as_ref(), cfa)
        };
        found.push(LocalVariable { name, kind: (at, kind), place: place() });
    });
    found
}

/// Whether a location is memory to which a register other than the stack's points. In a list, gcc gives such a
/// place to a variable whose value was read from there, as long as the thread itself writes nothing there;
/// another thread may have written since. (A captured variable of a lambda is at a pointer in the closure, and
/// its own location.)
fn is_of_others(unit: UnitRef<'_, Slice>, expression: Expression<Slice>) -> bool {
    const FRAME: [u16; 2] = [6, 7];
    let (mut through_register, mut reads, mut is_value) = (false, false, false);
    let mut operations = expression.operations(unit.encoding());
    while let Ok(Some(operation)) = operations.next() {
        match operation {
            Op::RegisterOffset { register, .. } => through_register |= !FRAME.contains(&register.0),
            Op::Deref { .. } => reads = true,
            Op::StackValue => is_value = true,
            _ => {}
        }
    }
    through_register && reads == is_value
}

/// Whether gcc made the unit.
fn is_of_gcc(unit: UnitRef<'_, Slice>) -> bool {
    let root = unit.entry(unit.header.root_offset()).ok();
    let producer = root.and_then(|root| root.attr_value(dw::DW_AT_producer));
    let producer = producer.and_then(|producer| unit.attr_string(producer).ok());
    producer.is_some_and(|producer| producer.to_string_lossy().starts_with("GNU "))
}

/// Whether a variable of this type fits in a register. Larger ones are passed by their address.
fn is_scalar(unit: UnitRef<'_, Slice>, kind: UnitOffset) -> bool {
    let shape = describe(unit, kind).map(|of| of.shape);
    !matches!(shape, Some(Shape::Record(_) | Shape::Variants { .. } | Shape::Array { .. }))
}

/// Appends a constant.
pub(crate) fn constant(code: &mut Vec<u8>, value: u64) {
    code.push(0x25);
    code.extend(value.to_be_bytes());
}

/// Appends a register's value.
pub(crate) fn register(code: &mut Vec<u8>, number: u16) {
    code.push(0x26);
    code.extend(number.to_be_bytes());
}

const ADD: u8 = 0x02;
const SUB: u8 = 0x03;
const LOAD: u8 = 0x1a;

/// Appends the canonical frame address.
fn frame_address(code: &mut Vec<u8>, cfa: &Cfa) -> Option<()> {
    let Cfa::Register(number, offset) = cfa else { return None };
    register(code, *number);
    constant(code, *offset as u64);
    code.push(ADD);
    Some(())
}

/// A location expression as code; none if it uses what is not known at that point.
fn translate(
    unit: UnitRef<'_, Slice>,
    expression: Expression<Slice>,
    base: Option<&Expression<Slice>>,
    cfa: Option<&Cfa>,
) -> Option<PlaceCode> {
    let mut code = Vec::new();
    let mut operations = expression.operations(unit.encoding());
    let mut is_value = false;
    let mut first = true;
    while let Some(operation) = operations.next().ok()? {
        // Nothing may follow the end of a value.
        if is_value {
            return None;
        }
        match operation {
            Op::Register { register: number } if first => {
                register(&mut code, number.0);
                is_value = true;
            }
            Op::RegisterOffset { register: number, offset, base_type: UnitOffset(0) } => {
                register(&mut code, number.0);
                constant(&mut code, offset as u64);
                code.push(ADD);
            }
            Op::FrameOffset { offset } => {
                match translate(unit, *base?, None, cfa)? {
                    PlaceCode::Address(base) | PlaceCode::Value(base) => code.extend(base),
                }
                constant(&mut code, offset as u64);
                code.push(ADD);
            }
            Op::CallFrameCFA => frame_address(&mut code, cfa?)?,
            Op::UnsignedConstant { value } => constant(&mut code, value),
            Op::SignedConstant { value } => constant(&mut code, value as u64),
            Op::PlusConstant { value } => {
                constant(&mut code, value);
                code.push(ADD);
            }
            Op::Plus => code.push(ADD),
            Op::Minus => code.push(SUB),
            Op::Deref { base_type: UnitOffset(0), size: 8, space: false } => code.push(LOAD),
            Op::StackValue => is_value = true,
            _ => return None,
        }
        first = false;
    }
    // The registers that a probe saves.
    let known = |code: &[u8]| {
        let mut at = 0;
        while at < code.len() {
            match code[at] {
                0x25 => at += 9,
                0x26 => {
                    let number = u16::from_be_bytes([code[at + 1], code[at + 2]]);
                    if number > 15 && number != THREAD_POINTER {
                        return false;
                    }
                    at += 3;
                }
                _ => at += 1,
            }
        }
        true
    };
    if code.is_empty() || !known(&code) {
        return None;
    }
    Some(if is_value { PlaceCode::Value(code) } else { PlaceCode::Address(code) })
}
