//! The modules of a process, from its mappings and the files' headers.

use super::maps::{Mapping, VDSO};
use std::ops::Range;
use traces::{Module, Site};

/// The smallest unit of mapped memory.
const PAGE: u64 = 4096;

/// The load layout of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Whether the file is position-independent; otherwise its addresses are those of the process.
    pub movable: bool,
    /// The segments: file offset, address, size in the file, size in memory.
    pub segments: Vec<[u64; 4]>,
    /// See [`crate::symbols::build_id`].
    pub build_id: String,
}

impl Layout {
    /// The bias and address range of a file with one part loaded as in `mapping`.
    #[must_use]
    pub fn place(&self, mapping: &Mapping) -> Option<(u64, Range<u64>)> {
        let down = |value: u64| value & !(PAGE - 1);
        let low = down(self.segments.iter().map(|segment| segment[1]).min()?);
        let high = self.segments.iter().filter_map(|segment| segment[1].checked_add(segment[3]));
        let high = high.max()?.checked_add(PAGE - 1).map(down)?;
        let bias = if self.movable {
            let from = self.segments.iter().find(|[offset, _, size, _]| {
                (down(*offset)..offset.saturating_add(*size)).contains(&mapping.offset)
            })?;
            let address = from[1].wrapping_add(mapping.offset).wrapping_sub(from[0]);
            mapping.range.start.wrapping_sub(address)
        } else {
            0
        };
        let range = bias.wrapping_add(low)..bias.wrapping_add(high);
        range.contains(&mapping.range.start).then_some((bias, range))
    }
}

/// A module and its load address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The file and its build id.
    pub module: Module,
    /// Added to an address of the file, it gives the address in the process.
    pub bias: u64,
    /// The addresses it covers; empty if it is not loaded.
    pub range: Range<u64>,
    /// Whether the file is no longer at its path.
    pub deleted: bool,
}

/// The modules of a process; number 0 is the program itself.
#[derive(Debug, Clone, Default)]
pub struct ModuleMap {
    modules: Vec<Loaded>,
    /// The address ranges of the modules, ascending.
    ranges: Vec<(Range<u64>, u16)>,
    /// The executable address ranges, from files or not, ascending.
    code: Vec<Range<u64>>,
}

impl ModuleMap {
    /// Builds the list of modules from mappings. `program` is the program's path; `layout` reads
    /// the headers of a mapping's file, if possible.
    pub fn build(
        mappings: &[Mapping],
        program: &str,
        layout: impl Fn(&Mapping) -> Option<Layout>,
    ) -> ModuleMap {
        let mut found: Vec<Candidate> = Vec::new();
        for mapping in mappings.iter().filter(|mapping| names_a_file(mapping)) {
            // A file can be loaded several times, or also be mapped as data. Each instance is a
            // separate module, identified by the addresses that its headers ask for.
            match found.iter_mut().find(|candidate| candidate.takes(mapping)) {
                Some(candidate) => candidate.add(mapping),
                None => found.push(Candidate::new(mapping, layout(mapping))),
            }
        }
        // A file without code is data, not a module.
        let mut modules: Vec<Loaded> =
            found.into_iter().filter(|found| found.code).map(|found| found.loaded).collect();
        // Do not sort by address: the order must not depend on address randomisation.
        modules.sort_by(|a, b| {
            let key = |loaded: &Loaded| (loaded.module.path != program, loaded.range.start);
            (key(a).0, &a.module.path, key(a).1).cmp(&(key(b).0, &b.module.path, key(b).1))
        });
        modules.truncate(usize::from(u16::MAX));
        let code = mappings.iter().filter(|mapping| mapping.executable);
        let code = code.map(|mapping| mapping.range.clone()).collect();
        let mut map = ModuleMap { modules, ranges: Vec::new(), code };
        map.index();
        map
    }

    /// Modules without a process: sites can be resolved, addresses cannot.
    #[must_use]
    pub fn unloaded(modules: &[Module]) -> ModuleMap {
        let modules = modules
            .iter()
            .map(|module| Loaded { module: module.clone(), bias: 0, range: 0..0, deleted: false })
            .collect();
        ModuleMap { modules, ..Default::default() }
    }

    /// Takes over the present mappings. Modules keep their numbers; new ones follow them.
    pub fn update(&mut self, now: ModuleMap) {
        for loaded in &mut self.modules {
            loaded.range = 0..0;
        }
        for fresh in now.modules {
            let room = self.modules.len() < usize::from(u16::MAX);
            let known = self
                .modules
                .iter_mut()
                .find(|known| known.module == fresh.module && known.range.is_empty());
            match known {
                Some(known) => *known = fresh,
                None if room => self.modules.push(fresh),
                None => {}
            }
        }
        self.code = now.code;
        self.index();
    }

    fn index(&mut self) {
        let numbered = (0u16..).zip(&self.modules);
        self.ranges = numbered
            .filter(|(_, loaded)| !loaded.range.is_empty())
            .map(|(number, loaded)| (loaded.range.clone(), number))
            .collect();
        self.ranges.sort_by_key(|(range, _)| range.start);
        self.code.sort_by_key(|range| range.start);
    }

    /// The modules, by number.
    #[must_use]
    pub fn modules(&self) -> &[Loaded] {
        &self.modules
    }

    /// The module and offset of an address.
    #[must_use]
    pub fn site(&self, address: u64) -> Option<Site> {
        let after = self.ranges.partition_point(|(range, _)| range.start <= address);
        let (range, module) = self.ranges.get(after.checked_sub(1)?)?;
        let loaded = self.modules.get(usize::from(*module))?;
        range
            .contains(&address)
            .then(|| Site { module: *module, offset: address.wrapping_sub(loaded.bias) })
    }

    /// The address of a site in the process, if its module is loaded.
    #[must_use]
    pub fn address(&self, site: Site) -> Option<u64> {
        let loaded = self.modules.get(usize::from(site.module))?;
        let address = loaded.bias.wrapping_add(site.offset);
        loaded.range.contains(&address).then_some(address)
    }

    /// Whether an address is executable, from a file or not.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        let after = self.code.partition_point(|range| range.start <= address);
        after > 0 && self.code[after - 1].contains(&address)
    }
}

fn names_a_file(mapping: &Mapping) -> bool {
    mapping.path == VDSO
        || mapping.path.starts_with('/') && mapping.inode != 0 && !mapping.path.starts_with("/dev/")
}

/// A module under construction.
struct Candidate {
    loaded: Loaded,
    code: bool,
    inode: u64,
    /// Whether the range comes from the file's headers, not from its mappings.
    known: bool,
}

impl Candidate {
    fn new(mapping: &Mapping, layout: Option<Layout>) -> Candidate {
        let known = layout.as_ref().and_then(|layout| layout.place(mapping));
        let (bias, range) = match &known {
            Some((bias, range)) => (*bias, range.clone()),
            None => (mapping.range.start.wrapping_sub(mapping.offset), mapping.range.clone()),
        };
        let build_id = layout.map(|layout| layout.build_id).unwrap_or_default();
        let module = Module { path: mapping.path.clone(), build_id };
        Candidate {
            loaded: Loaded { module, bias, range, deleted: mapping.deleted },
            code: mapping.executable,
            inode: mapping.inode,
            known: known.is_some(),
        }
    }

    fn takes(&self, mapping: &Mapping) -> bool {
        let range = &self.loaded.range;
        self.inode == mapping.inode
            && self.loaded.module.path == mapping.path
            && if self.known {
                range.contains(&mapping.range.start)
            } else {
                // Without headers: the mappings of one instance are contiguous.
                mapping.offset > 0
                    && self.loaded.bias.wrapping_add(mapping.offset) <= mapping.range.start
                    && mapping.range.start.wrapping_sub(range.end) < 1 << 30
            }
    }

    fn add(&mut self, mapping: &Mapping) {
        self.code |= mapping.executable;
        if !self.known {
            self.loaded.range.end = self.loaded.range.end.max(mapping.range.end);
        }
    }
}
