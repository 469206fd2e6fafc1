//! The names of memory in blocks of the heap: a block has none of its own, but what points to it has:
//! `main::queue->guard`, `accounts[1].balance`, `head->next->value`.

use super::debug::Slice;
use super::memory::Words;
use super::variables::{self, Place as Held};
use super::{Image, Live, Memory, Symbols};
use gimli::{DebugInfoOffset, UnitOffset, UnitRef, constants as dw};
use std::collections::BTreeMap;
use std::sync::Arc;
use traces::{Place, TaskId};

/// A type: the unit, and where in it.
pub(super) type Type = (DebugInfoOffset, UnitOffset);

/// A pointer within a value of some type.
#[derive(Debug, Clone)]
pub(super) struct Inner {
    /// Where in the value.
    offset: u64,
    /// The way to it, as in `.head`.
    path: String,
    /// What it points to; none for `void *`.
    to: Option<UnitOffset>,
}

/// Of an array, so many elements are looked at.
const MOST_ELEMENTS: u64 = 16;
/// No value is looked into further.
const DEEPEST: u32 = 8;
/// From a variable, so many pointers are followed one after the other.
const STEPS: u32 = 3;
/// In all, so many pointers are looked at.
const MOST: usize = 4000;

/// The pointers in a value of a type.
pub(super) fn inner(unit: UnitRef<'_, Slice>, kind: UnitOffset) -> Vec<Inner> {
    let mut found = Vec::new();
    collect(unit, kind, &Inner { offset: 0, path: String::new(), to: None }, false, 0, &mut found);
    found
}

/// `smart`: within a library's pointer, whose own members are nobody's name for anything.
fn collect(
    unit: UnitRef<'_, Slice>,
    kind: UnitOffset,
    at: &Inner,
    smart: bool,
    depth: u32,
    found: &mut Vec<Inner>,
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
            found.push(Inner { to: variables::type_of(unit, &entry), ..at.clone() });
        }
        dw::DW_TAG_array_type => {
            let Some(element) = variables::type_of(unit, &entry) else { return };
            let size = variables::size(unit, element, 0).filter(|&size| size > 0);
            let Some((size, counts)) = size.zip(variables::counts(unit, &entry)) else { return };
            let [count] = counts.as_slice() else { return };
            for index in 0..(*count).min(MOST_ELEMENTS) {
                let offset = at.offset + index * size;
                let next = Inner { offset, path: format!("{}[{index}]", at.path), to: None };
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
                let next = Inner { offset: at.offset + start, path, to: None };
                collect(unit, kind, &next, smart, depth + 1, found);
            });
        }
        _ => {}
    }
}

/// Whether a type of a library stands for what it points to.
fn is_smart(name: &str) -> bool {
    const FIRST: [&str; 6] = ["Arc<", "Rc<", "Box<", "Pin<", "shared_ptr<", "unique_ptr<"];
    FIRST.iter().any(|first| name.starts_with(first))
}

/// Whether it is what a library's shared pointer keeps beside the value.
fn is_shared(unit: UnitRef<'_, Slice>, entry: &variables::Entry) -> bool {
    let name = variables::name(unit, entry, 0).unwrap_or_default();
    name.starts_with("ArcInner<") || name.starts_with("RcInner<")
}

/// What lies `offset` bytes behind a pointer: which element, and the way from there.
pub(super) fn part(unit: UnitRef<'_, Slice>, kind: UnitOffset, offset: u64) -> (u64, String) {
    let Some(size) = variables::size(unit, kind, 0).filter(|&size| size > 0) else {
        return (0, if offset > 0 { format!("+0x{offset:x}") } else { String::new() });
    };
    let part = variables::part(unit, kind, offset % size);
    let shared = variables::bare(unit, kind).is_some_and(|(entry, _)| is_shared(unit, &entry));
    // The value itself is what the program names.
    let part = match part.strip_prefix(".data") {
        Some(rest) if shared => rest.to_owned(),
        _ => part,
    };
    (offset / size, part)
}

/// A pointer into a block.
struct Reached {
    to: u64,
    name: String,
    image: Arc<Image>,
    kind: Option<Type>,
}

/// What points to the blocks of a process.
pub struct Pointees(Vec<Reached>);

impl Pointees {
    /// A name for an address in a block, by the first that was found to point to it.
    #[must_use]
    pub fn name(&self, block: std::ops::Range<u64>, address: u64) -> Option<String> {
        let into = |one: &&Reached| block.contains(&one.to) && one.to <= address;
        let start = |one: &&Reached| one.to == block.start;
        let known = |one: &&Reached| one.kind.is_some();
        let candidates = || self.0.iter().filter(into);
        let one = candidates()
            .find(|one| start(one) && known(one))
            .or_else(|| candidates().filter(known).min_by_key(|one| address - one.to))
            .or_else(|| candidates().find(start))?;
        let offset = address - one.to;
        let (index, part) = match one.kind {
            Some(kind) => one.image.part_behind(kind, offset),
            None if offset == 0 => (0, String::new()),
            None => (0, format!("+0x{offset:x}")),
        };
        if one.kind.is_some_and(|(unit, _)| one.image.is_rust(unit)) {
            // What is pointed to goes by the pointer's name there.
            let index = if index > 0 { format!("[{index}]") } else { String::new() };
            return Some(format!("{}{index}{part}", one.name));
        }
        Some(match (index, part.strip_prefix('.')) {
            (0, Some(member)) => format!("{}->{member}", one.name),
            (0, None) if part.is_empty() || part.starts_with('+') => format!("*{}{part}", one.name),
            (0, None) => format!("(*{}){part}", one.name),
            (index, _) => format!("{}[{index}]{part}", one.name),
        })
    }
}

impl Symbols {
    /// What the variables of the program, and those of functions in the frames of tasks, point to in
    /// blocks, which are given by their first addresses, with what follows them.
    #[must_use]
    pub fn pointees(
        &self,
        blocks: &BTreeMap<u64, u64>,
        tasks: &[(TaskId, Vec<Live>)],
        memory: &dyn Memory,
    ) -> Pointees {
        let words = Words::new(memory);
        let within = |address: u64| {
            blocks.range(..=address).next_back().is_some_and(|(_, &end)| address < end)
        };
        let mut reached: Vec<Reached> = Vec::new();
        let reach = |reached: &mut Vec<Reached>, one: Reached| {
            let known = |other: &Reached| {
                other.to == one.to && (other.kind.is_some() || one.kind.is_none())
            };
            if within(one.to) && reached.len() < MOST && !reached.iter().any(known) {
                reached.push(one);
            }
        };
        for (number, loaded) in self.map.modules().iter().enumerate() {
            let library = loaded.module.path.starts_with("/lib")
                || loaded.module.path.starts_with("/usr/lib");
            let Some(image) = self.images[number].as_ref().filter(|_| !library) else { continue };
            for (offset, inner, unit) in image.static_pointers().iter() {
                let site = traces::Site { module: number as u16, offset: *offset };
                let Some(to) = self
                    .address(site)
                    .and_then(|address| words.get(address + inner.offset, 8))
                    .filter(|&to| within(to))
                else {
                    continue;
                };
                let name = self.object_name(&Place::Static(site)) + &inner.path;
                let kind = inner.to.map(|to| (*unit, to));
                reach(&mut reached, Reached { to, name, image: Arc::clone(image), kind });
            }
        }
        for (task, frames) in tasks {
            // Outermost first: there things begin.
            for live in frames.iter().rev() {
                for (image, local) in self.locals(live, memory) {
                    let name = match task {
                        &TaskId::MAIN => local.name,
                        task => format!("{task}'s {}", local.name),
                    };
                    for inner in image.pointers_in(local.kind).iter() {
                        let to = match local.place {
                            Held::At(address) => words.get(address + inner.offset, 8),
                            Held::Is(value) => (inner.offset == 0).then_some(value),
                        };
                        let Some(to) = to else { continue };
                        let name = name.clone() + &inner.path;
                        let kind = inner.to.map(|to| (local.kind.0, to));
                        reach(&mut reached, Reached { to, name, image: Arc::clone(image), kind });
                    }
                }
            }
        }
        let mut from = 0;
        for _ in 1..STEPS {
            let end = reached.len();
            for at in from..end {
                let one = &reached[at];
                let Some(kind) = one.kind else { continue };
                let (start, name, image) = (one.to, one.name.clone(), Arc::clone(&one.image));
                for inner in image.pointers_in(kind).iter() {
                    let Some(to) = words.get(start.saturating_add(inner.offset), 8) else {
                        continue;
                    };
                    let name = match inner.path.strip_prefix('.') {
                        _ if image.is_rust(kind.0) => format!("{name}{}", inner.path),
                        Some(member) => format!("{name}->{member}"),
                        None => format!("(*{name}){}", inner.path),
                    };
                    let kind = inner.to.map(|to| (kind.0, to));
                    reach(&mut reached, Reached { to, name, image: Arc::clone(&image), kind });
                }
            }
            from = end;
        }
        Pointees(reached)
    }
}
