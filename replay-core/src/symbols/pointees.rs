//! Names for heap memory, after the variables that point to it: `main::queue->guard`,
//! `accounts[1].balance`, `head->next->value`.

use super::memory::Words;
use super::names::is_system_library;
use super::pointer_types::{MOST, Type};
use super::variables::Storage;
use super::{Image, LiveFrame, Memory, Symbols};
use std::collections::BTreeMap;
use std::sync::Arc;
use traces::{ObjectLocation, TaskId};

/// The longest chain of pointers to follow from a variable.
const STEPS: u32 = 3;
/// A pointer into a block.
struct FoundPointer {
    to: u64,
    name: String,
    image: Arc<Image>,
    kind: Option<Type>,
}

/// Pointers into the heap blocks of a process.
pub struct Pointees(Vec<FoundPointer>);

impl Pointees {
    /// A name for an address in a block, after the first pointer found to the block.
    #[must_use]
    pub fn name(&self, block: std::ops::Range<u64>, address: u64) -> Option<String> {
        let into = |one: &&FoundPointer| block.contains(&one.to) && one.to <= address;
        let start = |one: &&FoundPointer| one.to == block.start;
        let known = |one: &&FoundPointer| one.kind.is_some();
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
            // In Rust, the target has the name of the pointer.
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
    /// Finds the pointers into heap blocks: in static variables of the program, and in variables of
    /// the tasks' frames. `blocks` maps start addresses to end addresses.
    #[must_use]
    pub fn pointees(
        &self,
        blocks: &BTreeMap<u64, u64>,
        tasks: &[(TaskId, Vec<LiveFrame>)],
        memory: &dyn Memory,
    ) -> Pointees {
        let words = Words::new(memory);
        let within = |address: u64| {
            blocks.range(..=address).next_back().is_some_and(|(_, &end)| address < end)
        };
        let mut reached: Vec<FoundPointer> = Vec::new();
        let reach = |reached: &mut Vec<FoundPointer>, one: FoundPointer| {
            let known = |other: &FoundPointer| {
                other.to == one.to && (other.kind.is_some() || one.kind.is_none())
            };
            if within(one.to) && reached.len() < MOST && !reached.iter().any(known) {
                reached.push(one);
            }
        };
        for (number, loaded) in self.map.modules().iter().enumerate() {
            let library = is_system_library(&loaded.module.path);
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
                let name = self.object_name(&ObjectLocation::Static(site)) + &inner.path;
                let kind = inner.to.map(|to| (*unit, to));
                reach(&mut reached, FoundPointer { to, name, image: Arc::clone(image), kind });
            }
        }
        for (task, frames) in tasks {
            // Outermost first: structures are usually created there.
            for live in frames.iter().rev() {
                for (image, local) in self.locals(live, memory) {
                    let name = match task {
                        &TaskId::MAIN => local.name,
                        task => format!("{task}'s {}", local.name),
                    };
                    for inner in image.pointers_in(local.kind).iter() {
                        let to = match local.place {
                            Storage::Memory(address) => words.get(address + inner.offset, 8),
                            value => value.word().filter(|_| inner.offset == 0),
                        };
                        let Some(to) = to else { continue };
                        let name = name.clone() + &inner.path;
                        let kind = inner.to.map(|to| (local.kind.0, to));
                        reach(
                            &mut reached,
                            FoundPointer { to, name, image: Arc::clone(image), kind },
                        );
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
                    reach(&mut reached, FoundPointer { to, name, image: Arc::clone(&image), kind });
                }
            }
            from = end;
        }
        Pointees(reached)
    }
}
