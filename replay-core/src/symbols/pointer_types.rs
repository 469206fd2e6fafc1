//! The pointers within values of a type, as DWARF describes them.

use super::variables::{self, Slice};
use gimli::{DebugInfoOffset, UnitOffset, UnitRef, constants as dw};

/// A type: its unit and its offset in the unit.
pub(super) type Type = (DebugInfoOffset, UnitOffset);

/// A pointer within a value of some type.
#[derive(Debug, Clone)]
pub(super) struct InnerPointer {
    /// The offset in the value.
    pub(super) offset: u64,
    /// The path to the pointer, as in `.head`.
    pub(super) path: String,
    /// The type of its target; none for `void *`.
    pub(super) to: Option<UnitOffset>,
}

/// The most elements of an array to examine.
const MOST_ELEMENTS: u64 = 16;
/// The deepest nesting to examine.
const DEEPEST: u32 = 8;
/// The most pointers to examine in all.
pub(super) const MOST: usize = 4000;

/// The pointers in a value of a type.
pub(super) fn inner(unit: UnitRef<'_, Slice>, kind: UnitOffset) -> Vec<InnerPointer> {
    let mut found = Vec::new();
    collect(
        unit,
        kind,
        &InnerPointer { offset: 0, path: String::new(), to: None },
        false,
        0,
        &mut found,
    );
    found
}

/// `smart`: within a library's smart pointer, whose members must not appear in names.
fn collect(
    unit: UnitRef<'_, Slice>,
    kind: UnitOffset,
    at: &InnerPointer,
    smart: bool,
    depth: u32,
    found: &mut Vec<InnerPointer>,
) {
    if depth > DEEPEST || found.len() > MOST {
        return;
    }
    let Some((entry, opaque)) = variables::bare(unit, kind) else { return };
    if opaque {
        return;
    }
    match entry.tag() {
        dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type => {
            found.push(InnerPointer { to: variables::type_of(unit, &entry), ..at.clone() });
        }
        dw::DW_TAG_array_type => {
            let Some(element) = variables::type_of(unit, &entry) else { return };
            let size = variables::size(unit, element, 0).filter(|&size| size > 0);
            let Some((size, counts)) = size.zip(variables::counts(unit, &entry)) else { return };
            let [count] = counts.as_slice() else { return };
            for index in 0..(*count).min(MOST_ELEMENTS) {
                let offset = at.offset + index * size;
                let next = InnerPointer { offset, path: format!("{}[{index}]", at.path), to: None };
                collect(unit, element, &next, smart, depth + 1, found);
            }
        }
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type => {
            let smart =
                smart || variables::name(unit, &entry, 0).is_some_and(|name| is_smart(&name));
            let shared = is_shared(unit, &entry);
            variables::children(unit, &entry, &mut |child| {
                let base = child.tag() == dw::DW_TAG_inheritance;
                let start = child.attr_value(dw::DW_AT_data_member_location);
                let start = start.and_then(|start| start.udata_value());
                let kind = variables::type_of(unit, child);
                let (Some(start), Some(kind)) = (start, kind) else { return };
                let name = variables::name(unit, child, 0).filter(|_| !base && !smart && !shared);
                let path = match name {
                    Some(name) if name.starts_with('_') => return,
                    Some(name) => format!("{}.{name}", at.path),
                    None => at.path.clone(),
                };
                let next = InnerPointer { offset: at.offset + start, path, to: None };
                collect(unit, kind, &next, smart, depth + 1, found);
            });
        }
        _ => {}
    }
}

/// Whether a library type is a smart pointer.
fn is_smart(name: &str) -> bool {
    const FIRST: [&str; 6] = ["Arc<", "Rc<", "Box<", "Pin<", "shared_ptr<", "unique_ptr<"];
    FIRST.iter().any(|first| name.starts_with(first))
}

/// Whether a type is the control block of a library's shared pointer.
fn is_shared(unit: UnitRef<'_, Slice>, entry: &variables::Entry) -> bool {
    let name = variables::name(unit, entry, 0).unwrap_or_default();
    name.starts_with("ArcInner<") || name.starts_with("RcInner<")
}

/// The part at `offset` behind a pointer: the index of the element, and the path within it.
pub(super) fn part(unit: UnitRef<'_, Slice>, kind: UnitOffset, offset: u64) -> (u64, String) {
    let Some(size) = variables::size(unit, kind, 0).filter(|&size| size > 0) else {
        return (0, if offset > 0 { format!("+0x{offset:x}") } else { String::new() });
    };
    let part = variables::part(unit, kind, offset % size);
    let shared = variables::bare(unit, kind).is_some_and(|(entry, _)| is_shared(unit, &entry));
    // Users know the value itself, not the control block.
    let part = match part.strip_prefix(".data") {
        Some(rest) if shared => rest.to_owned(),
        _ => part,
    };
    (offset / size, part)
}
