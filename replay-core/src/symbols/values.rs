//! Formats the value of an expression by its DWARF type.

use super::expressions::Selector;
use super::memory::Words;
use super::variables::{
    DEEPEST, Entry, Slice, Storage, children, counts, is_opaque, name, size, type_of,
};
use gimli::{AttributeValue, UnitOffset, UnitRef, constants as dw};

/// Longer texts are cut.
const LONGEST: usize = 200;
/// The most elements of an array to show.
const ELEMENTS: u64 = 16;
/// The most characters of a string to show.
const LETTERS: u64 = 64;
/// The deepest nesting of structures to show.
const NESTED: u32 = 4;

/// A value: its type, if known, and its storage.
#[derive(Clone, Copy)]
struct Value {
    kind: Option<UnitOffset>,
    place: Storage,
}

/// The value of an expression, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The value as text.
    pub value: String,
    pub(super) storage: Storage,
    /// Its size in bytes, if the type is known.
    pub size: Option<u64>,
}

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredAt {
    /// In memory at this address.
    Memory(u64),
    /// In a register of the frame, with this number of DWARF, from this byte on.
    Register {
        /// The number.
        number: u16,
        /// The first byte.
        offset: u64,
    },
    /// Nowhere: a constant, an address, or computed from other values.
    Nowhere,
}

impl Located {
    /// Where the value is.
    #[must_use]
    pub fn stored_at(&self) -> StoredAt {
        match self.storage {
            Storage::Memory(address) => StoredAt::Memory(address),
            Storage::Register { number, offset, .. } => StoredAt::Register { number, offset },
            Storage::Value(_) => StoredAt::Nowhere,
        }
    }
}

/// Follows a path from a variable, locates the value there and formats it.
pub(super) fn locate(
    unit: UnitRef<'_, Slice>,
    kind: UnitOffset,
    place: Storage,
    parts: &[Selector],
    words: &Words<'_>,
) -> Result<Located, String> {
    let reader = ValueReader { unit, words };
    let mut value = Value { kind: Some(kind), place };
    for (at, part) in parts.iter().enumerate() {
        if *part == Selector::Address {
            let Storage::Memory(address) = value.place else {
                return Err("it is in a register, and has no address".into());
            };
            return match parts.len() - at {
                1 => Ok(Located {
                    value: format!("0x{address:x}"),
                    storage: Storage::Value(address),
                    size: Some(8),
                }),
                _ => Err("an address has no parts".into()),
            };
        }
        value = reader.part(value, part)?;
    }
    let mut text = String::new();
    reader.write(value, 0, &mut text)?;
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    let size = value.kind.and_then(|kind| size(unit, kind, 0));
    Ok(Located { value: text, storage: value.place, size })
}

struct ValueReader<'a> {
    unit: UnitRef<'a, Slice>,
    words: &'a Words<'a>,
}

impl ValueReader<'_> {
    /// A type without typedefs and qualifiers.
    fn bare(&self, kind: Option<UnitOffset>) -> Option<Entry> {
        let mut entry = self.unit.entry(kind?).ok()?;
        for _ in 0..DEEPEST {
            match entry.tag() {
                dw::DW_TAG_typedef
                | dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_atomic_type
                | dw::DW_TAG_restrict_type => {
                    entry = self.unit.entry(type_of(self.unit, &entry)?).ok()?;
                }
                _ => return Some(entry),
            }
        }
        None
    }

    /// The name of a type.
    fn title(&self, kind: Option<UnitOffset>) -> Option<String> {
        name(self.unit, &self.unit.entry(kind?).ok()?, 0)
    }

    fn part(&self, value: Value, part: &Selector) -> Result<Value, String> {
        let entry = self.bare(value.kind).ok_or("its type is unknown")?;
        match part {
            Selector::Member(wanted) => {
                let value = if is_pointer(&entry) { self.target(value, &entry)? } else { value };
                let entry = self.bare(value.kind).ok_or("its type is unknown")?;
                self.member(value, &entry, wanted, 0).ok_or_else(|| match self.title(value.kind) {
                    Some(title) => format!("{title} has no member {wanted}"),
                    None => format!("it has no member {wanted}"),
                })
            }
            Selector::Index(index) if entry.tag() == dw::DW_TAG_array_type => {
                self.element(value, &entry, *index)
            }
            Selector::Index(index) if is_pointer(&entry) => {
                let first = self.target(value, &entry)?;
                let size = first.kind.and_then(|kind| size(self.unit, kind, 0));
                let size = size.ok_or("the size of its elements is unknown")?;
                self.behind(first, index.wrapping_mul(size as i64), first.kind)
            }
            Selector::Index(_) => Err("it is not an array".into()),
            Selector::Target if entry.tag() == dw::DW_TAG_array_type => {
                self.element(value, &entry, 0)
            }
            Selector::Target if is_pointer(&entry) => self.target(value, &entry),
            Selector::Target | Selector::Address => Err("it is not a pointer".into()),
        }
    }

    fn behind(&self, value: Value, by: i64, kind: Option<UnitOffset>) -> Result<Value, String> {
        let place = match value.place {
            Storage::Memory(address) => Storage::Memory(address.wrapping_add_signed(by)),
            Storage::Register { number, offset, word } if (0..8).contains(&by) => {
                Storage::Register { number, offset: offset + by as u64, word: word >> (8 * by) }
            }
            Storage::Value(word) if (0..8).contains(&by) => Storage::Value(word >> (8 * by)),
            _ => return Err("only a part of it is known".into()),
        };
        Ok(Value { kind, place })
    }

    fn element(&self, value: Value, array: &Entry, index: i64) -> Result<Value, String> {
        let unknown = "the elements' type is unknown";
        let element = type_of(self.unit, array).ok_or(unknown)?;
        let counts = counts(self.unit, array).unwrap_or_default();
        if counts.len() > 1 {
            return Err("elements of multi-dimensional arrays cannot be shown".into());
        }
        let size = size(self.unit, element, 0).ok_or(unknown)?;
        if let Some(&count) = counts.first()
            && u64::try_from(index).is_ok_and(|index| index >= count) | (index < 0)
        {
            return Err(format!("it has {count} elements"));
        }
        self.behind(value, index.wrapping_mul(size as i64), Some(element))
    }

    fn target(&self, value: Value, pointer: &Entry) -> Result<Value, String> {
        let address = self.word(value, 8)?;
        if address == 0 {
            return Err("a null pointer".into());
        }
        Ok(Value { kind: type_of(self.unit, pointer), place: Storage::Memory(address) })
    }

    fn member(&self, value: Value, of: &Entry, wanted: &str, depth: u32) -> Option<Value> {
        let mut found = None;
        self.members(of, &mut |called, offset, kind| {
            if found.is_some() || depth > DEEPEST {
                return;
            }
            let Ok(inner) = self.behind(value, offset as i64, Some(kind)) else { return };
            let same = |called: &str| {
                called == wanted
                    || called.strip_prefix("__").is_some_and(|number| {
                        number == wanted && wanted.bytes().all(|byte| byte.is_ascii_digit())
                    })
            };
            found = match called {
                Some(called) => same(&called).then_some(inner),
                // The members of a base or of an unnamed member belong to the type itself.
                None => self
                    .bare(Some(kind))
                    .and_then(|entry| self.member(inner, &entry, wanted, depth + 1)),
            };
        });
        found
    }

    /// The members of a structure: names (none for bases), offsets and types.
    fn members(&self, of: &Entry, visit: &mut dyn FnMut(Option<String>, u64, UnitOffset)) {
        children(self.unit, of, &mut |child| {
            let is_base = child.tag() == dw::DW_TAG_inheritance;
            if !is_base && child.tag() != dw::DW_TAG_member {
                return;
            }
            let start = match child.attr_value(dw::DW_AT_data_member_location) {
                Some(start) => start.udata_value(),
                None => (of.tag() == dw::DW_TAG_union_type).then_some(0),
            };
            if let Some((start, kind)) = start.zip(type_of(self.unit, child)) {
                let called = if is_base { None } else { name(self.unit, child, 0) };
                visit(called, start, kind);
            }
        });
    }

    /// The first bytes of a value as a number.
    fn word(&self, value: Value, size: u64) -> Result<u64, String> {
        let size = size.min(8) as usize;
        match value.place {
            Storage::Memory(address) => {
                let word = self.words.get(address, size);
                word.ok_or_else(|| format!("the memory at 0x{address:x} cannot be read"))
            }
            Storage::Register { word, .. } | Storage::Value(word) if size == 8 => Ok(word),
            Storage::Register { word, .. } | Storage::Value(word) => {
                Ok(word & ((1 << (8 * size)) - 1))
            }
        }
    }

    fn write(&self, value: Value, depth: u32, text: &mut String) -> Result<(), String> {
        if text.len() > LONGEST {
            return Ok(());
        }
        let Some(entry) = self.bare(value.kind) else {
            text.push_str("a value of an unknown type");
            return Ok(());
        };
        match entry.tag() {
            dw::DW_TAG_base_type => text.push_str(&self.number(value, &entry)?),
            dw::DW_TAG_enumeration_type => text.push_str(&self.enumerator(value, &entry)?),
            dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type if depth < NESTED => {
                self.write(self.target(value, &entry)?, depth + 1, text)?;
            }
            _ if is_pointer(&entry) => self.pointer(value, &entry, text)?,
            dw::DW_TAG_array_type => self.array(value, &entry, depth, text)?,
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                self.structure(value, &entry, depth, text)?;
            }
            _ => text.push_str("..."),
        }
        Ok(())
    }

    fn number(&self, value: Value, entry: &Entry) -> Result<String, String> {
        let size = entry.attr_value(dw::DW_AT_byte_size).and_then(|size| size.udata_value());
        let size = size.unwrap_or(8);
        let word = self.word(value, size)?;
        let signed = || {
            let unused = 64 - 8 * size.clamp(1, 8);
            (word << unused) as i64 >> unused
        };
        let encoding = match entry.attr_value(dw::DW_AT_encoding) {
            Some(AttributeValue::Encoding(encoding)) => encoding,
            _ => dw::DW_ATE_unsigned,
        };
        Ok(match encoding {
            _ if size > 8 => format!("0x{word:x}..."),
            dw::DW_ATE_boolean if word < 2 => (word == 1).to_string(),
            dw::DW_ATE_float if size == 4 => f32::from_bits(word as u32).to_string(),
            dw::DW_ATE_float => f64::from_bits(word).to_string(),
            dw::DW_ATE_signed_char | dw::DW_ATE_unsigned_char if size == 1 => {
                letter(word as u8, encoding == dw::DW_ATE_signed_char)
            }
            dw::DW_ATE_UTF => match char::from_u32(word as u32) {
                Some(letter) => format!("{letter:?}"),
                None => format!("0x{word:x}"),
            },
            dw::DW_ATE_signed => signed().to_string(),
            _ => word.to_string(),
        })
    }

    fn enumerator(&self, value: Value, entry: &Entry) -> Result<String, String> {
        let size = entry.attr_value(dw::DW_AT_byte_size).and_then(|size| size.udata_value());
        let size = size.unwrap_or(4);
        let word = self.word(value, size)?;
        let mask = if size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
        let mut found = None;
        children(self.unit, entry, &mut |child| {
            let number = child.attr_value(dw::DW_AT_const_value).and_then(|value| {
                value.udata_value().or_else(|| value.sdata_value().map(|value| value as u64))
            });
            if found.is_none() && number.is_some_and(|number| number & mask == word) {
                found = name(self.unit, child, 0);
            }
        });
        Ok(found.unwrap_or_else(|| word.to_string()))
    }

    fn pointer(&self, value: Value, entry: &Entry, text: &mut String) -> Result<(), String> {
        let address = self.word(value, 8)?;
        text.push_str(&if address == 0 { "null".to_owned() } else { format!("0x{address:x}") });
        let target = self.bare(type_of(self.unit, entry));
        if address != 0 && target.is_some_and(|target| self.is_letter(&target)) {
            text.push(' ');
            text.push_str(&self.text(address, LETTERS));
        }
        Ok(())
    }

    fn is_letter(&self, entry: &Entry) -> bool {
        let size = entry.attr_value(dw::DW_AT_byte_size).and_then(|size| size.udata_value());
        let encoding = entry.attr_value(dw::DW_AT_encoding);
        entry.tag() == dw::DW_TAG_base_type
            && size == Some(1)
            && matches!(
                encoding,
                Some(AttributeValue::Encoding(dw::DW_ATE_signed_char | dw::DW_ATE_unsigned_char))
            )
            && name(self.unit, entry, 0).is_some_and(|name| name == "char")
    }

    /// A string in memory, up to its terminating zero.
    fn text(&self, address: u64, most: u64) -> String {
        let bytes = (0..most).map_while(|at| self.words.get(address.wrapping_add(at), 1));
        let bytes: Vec<u8> = bytes.map(|byte| byte as u8).take_while(|&byte| byte != 0).collect();
        let more = if bytes.len() as u64 == most { "..." } else { "" };
        format!("{:?}{more}", String::from_utf8_lossy(&bytes))
    }

    fn array(
        &self,
        value: Value,
        entry: &Entry,
        depth: u32,
        text: &mut String,
    ) -> Result<(), String> {
        let element = type_of(self.unit, entry).ok_or("the elements' type is unknown")?;
        let size = size(self.unit, element, 0).ok_or("the elements' size is unknown")?;
        let count = counts(self.unit, entry).unwrap_or_default().iter().product::<u64>();
        if let (Storage::Memory(address), Some(kind)) = (value.place, self.bare(Some(element)))
            && self.is_letter(&kind)
        {
            text.push_str(&self.text(address, count.min(LETTERS)));
            return Ok(());
        }
        text.push('[');
        for at in 0..count.min(ELEMENTS) {
            text.push_str(if at > 0 { ", " } else { "" });
            let inner = self.behind(value, (at * size) as i64, Some(element))?;
            self.write(inner, depth + 1, text)?;
        }
        text.push_str(if count > ELEMENTS { ", ...]" } else { "]" });
        Ok(())
    }

    fn structure(
        &self,
        value: Value,
        entry: &Entry,
        depth: u32,
        text: &mut String,
    ) -> Result<(), String> {
        let mut members = Vec::new();
        self.members(entry, &mut |called, offset, kind| members.push((called, offset, kind)));
        let named = self.title(value.kind).or_else(|| name(self.unit, entry, 0));
        let own = |name: &String| is_opaque(name) || name.starts_with("__");
        if named.as_ref().is_some_and(own) {
            // The internals of library types are hidden, except for the single number in an atomic.
            return match members[..] {
                [(_, offset, kind)] if depth < NESTED => {
                    self.write(self.behind(value, offset as i64, Some(kind))?, depth + 1, text)
                }
                _ => {
                    text.push_str("{...}");
                    Ok(())
                }
            };
        }
        if depth >= NESTED || members.is_empty() {
            text.push_str("{...}");
            return Ok(());
        }
        text.push('{');
        for (at, (called, offset, kind)) in members.into_iter().enumerate() {
            text.push_str(if at > 0 { ", " } else { "" });
            if let Some(called) = called {
                text.push_str(&format!("{called}: "));
            }
            self.write(self.behind(value, offset as i64, Some(kind))?, depth + 1, text)?;
        }
        text.push('}');
        Ok(())
    }
}

fn is_pointer(entry: &Entry) -> bool {
    matches!(
        entry.tag(),
        dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type
    )
}

/// A small number that may be a character.
fn letter(byte: u8, signed: bool) -> String {
    let number = if signed { (byte as i8).to_string() } else { byte.to_string() };
    match byte {
        b' '..=b'~' => format!("{number} {:?}", char::from(byte)),
        _ => number,
    }
}
