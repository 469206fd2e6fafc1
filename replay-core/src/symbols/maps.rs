//! Which file lies where in a process: `/proc/PID/maps`, and the modules that follow from it.

use super::image::Layout;
use std::ops::Range;
use traces::{Module, Site};

/// One line of `/proc/PID/maps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The addresses it covers.
    pub range: Range<u64>,
    /// Whether it may be read.
    pub readable: bool,
    /// Whether it may be written to.
    pub writable: bool,
    /// Whether code in it may run.
    pub executable: bool,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file's inode, 0 for none.
    pub inode: u64,
    /// The file, or a name in brackets, or empty.
    pub path: String,
    /// Whether the file is no longer at `path`.
    pub deleted: bool,
}

/// Parses the text of `/proc/PID/maps`. Lines that are none are left out.
#[must_use]
pub fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(line).collect()
}

/// The mappings of a process.
///
/// # Errors
/// Where the process is gone or may not be looked at.
pub fn read(pid: i32) -> std::io::Result<Vec<Mapping>> {
    // Bytes, not a string: a path need not be UTF-8, and one odd library must not hide the rest.
    let text = std::fs::read(format!("/proc/{pid}/maps"))?;
    Ok(parse(&String::from_utf8_lossy(&text)))
}

fn line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        field
    };
    let (start, end) = field().split_once('-')?;
    let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
    let rights = field().as_bytes();
    let right = |at: usize, letter: u8| rights.get(at) == Some(&letter);
    let (readable, writable, executable) = (right(0, b'r'), right(1, b'w'), right(2, b'x'));
    let offset = u64::from_str_radix(field(), 16).ok()?;
    let _device = field();
    let inode = field().parse().ok()?;
    // The kernel pads with spaces up to the path, which may begin with one only if it is no path.
    let path = rest.trim_start_matches(' ');
    let (path, deleted) = match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    // A newline is the one character that the kernel escapes here.
    let path = path.replace("\\012", "\n");
    (range.start < range.end).then_some(Mapping {
        range,
        readable,
        writable,
        executable,
        offset,
        inode,
        path,
        deleted,
    })
}

/// A module with where it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The file and its build id.
    pub module: Module,
    /// What to add to an address of the file to get one of the process.
    pub bias: u64,
    /// The addresses it covers; empty while it is not loaded.
    pub range: Range<u64>,
    /// Whether the file is no longer at its path.
    pub deleted: bool,
}

/// The modules of a process; number 0 is the program itself.
#[derive(Debug, Clone, Default)]
pub struct ModuleMap {
    modules: Vec<Loaded>,
    /// Which module covers which addresses, ascending.
    ranges: Vec<(Range<u64>, u16)>,
    /// Where code may run, whether or not it comes from a file, ascending.
    code: Vec<Range<u64>>,
}

impl ModuleMap {
    /// The modules that `mappings` show. `program` is the program's path; `layout` reads what the
    /// file of a mapping says of itself, where it can.
    pub fn build(
        mappings: &[Mapping],
        program: &str,
        layout: impl Fn(&Mapping) -> Option<Layout>,
    ) -> ModuleMap {
        let mut found: Vec<Candidate> = Vec::new();
        for mapping in mappings.iter().filter(|mapping| names_a_file(mapping)) {
            // A file can be loaded more than once, or be mapped as data besides: each time makes
            // an instance of its own, told apart by the addresses that its headers ask for.
            match found.iter_mut().find(|candidate| candidate.takes(mapping)) {
                Some(candidate) => candidate.add(mapping),
                None => found.push(Candidate::new(mapping, layout(mapping))),
            }
        }
        // What has no code is a file that is read, not a module.
        let mut modules: Vec<Loaded> =
            found.into_iter().filter(|found| found.code).map(|found| found.loaded).collect();
        // Not by address: the order has to be the same with address randomisation.
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

    /// Modules without a process: sites are understood, addresses are not.
    #[must_use]
    pub fn unloaded(modules: &[Module]) -> ModuleMap {
        let modules = modules
            .iter()
            .map(|module| Loaded { module: module.clone(), bias: 0, range: 0..0, deleted: false })
            .collect();
        ModuleMap { modules, ..Default::default() }
    }

    /// Takes over what is loaded now. Modules keep their numbers; new ones come after them.
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

    /// The module and the offset in it of an address.
    #[must_use]
    pub fn site(&self, address: u64) -> Option<Site> {
        let after = self.ranges.partition_point(|(range, _)| range.start <= address);
        let (range, module) = self.ranges.get(after.checked_sub(1)?)?;
        let loaded = self.modules.get(usize::from(*module))?;
        range
            .contains(&address)
            .then(|| Site { module: *module, offset: address.wrapping_sub(loaded.bias) })
    }

    /// The address of a site in the process, where its module is loaded.
    #[must_use]
    pub fn address(&self, site: Site) -> Option<u64> {
        let loaded = self.modules.get(usize::from(site.module))?;
        let address = loaded.bias.wrapping_add(site.offset);
        loaded.range.contains(&address).then_some(address)
    }

    /// Whether code may run at an address, be it from a file or not.
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        let after = self.code.partition_point(|range| range.start <= address);
        after > 0 && self.code[after - 1].contains(&address)
    }
}

fn names_a_file(mapping: &Mapping) -> bool {
    mapping.path == super::image::VDSO
        || mapping.path.starts_with('/') && mapping.inode != 0 && !mapping.path.starts_with("/dev/")
}

/// A file as it is put together from its mappings.
struct Candidate {
    loaded: Loaded,
    code: bool,
    inode: u64,
    /// Whether the range comes from the file's headers, not from the mappings seen.
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
                // Without headers: the mappings of one instance follow each other.
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
