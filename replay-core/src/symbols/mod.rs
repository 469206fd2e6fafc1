//! Resolves addresses to functions, lines, stacks and names of objects.
//!
//! Missing information is never an error: stripped files, outdated debug files and corrupt tables
//! cost names, but the failure is still reported.

pub(crate) mod async_tasks;
mod cfi;
mod debug_info;
mod elf_file;
pub mod expressions;
mod image;
mod maps;
mod memory;
mod modules;
mod names;
mod object_names;
mod pointees;
mod pointer_types;
mod registers;
mod separate_debug;
mod table;
#[cfg(test)]
mod tests;
pub mod typed;
mod unwind;
mod values;
mod variables;

pub use debug_info::FrameValues;
pub(crate) use debug_info::InlinedCall;
pub use elf_file::build_id;
pub use image::Image;
pub use maps::{Mapping, parse as parse_maps, read as read_maps};
pub use memory::{Memory, ProcessMemory};
pub use modules::{Layout, Loaded, ModuleMap};
pub use names::{demangle, is_library, is_library_frame, is_user_frame};
pub use pointees::Pointees;
pub use registers::Registers;
pub use unwind::{MAX_FRAMES, StackFrame};
pub use values::{Located, StoredAt};

use crate::Error;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use traces::{Frame, Module, Site};

/// A stack frame with the information needed to find its variables.
#[derive(Debug, Clone, Copy)]
pub struct LiveFrame {
    pub(crate) frame: StackFrame,
    registers: Registers,
    /// The end of the frame: the caller's stack pointer.
    end: u64,
}

/// Code and variables of one process.
#[derive(Default)]
pub struct Symbols {
    map: ModuleMap,
    images: Vec<Option<Arc<Image>>>,
    frames: Mutex<HashMap<(Site, bool), Vec<Frame>>>,
    rows: Mutex<HashMap<Site, Option<Arc<cfi::Row>>>>,
    /// Whether the system's libraries have names only: their debug information is not read.
    is_brief: bool,
}

impl Symbols {
    /// The symbols of a running or stopped process.
    ///
    /// # Errors
    /// If the process has ended or may not be inspected.
    pub fn of_process(pid: i32) -> Result<Symbols, Error> {
        let mut symbols = Symbols::default();
        symbols.refresh(pid)?;
        Ok(symbols)
    }

    /// The modules of a process, without their names: to read the names of a file takes tens of milliseconds.
    ///
    /// # Errors
    /// See [`Symbols::of_process`].
    pub(crate) fn without_names(pid: i32) -> Result<Symbols, Error> {
        let mut symbols = Symbols::of_process(pid)?;
        symbols.images.fill(None);
        Ok(symbols)
    }

    /// The same without the debug information of the system's libraries. No frame in them is the user's, and
    /// to read that of the C library takes longer than many executions.
    #[must_use]
    pub(crate) fn without_details_of_libraries(self) -> Symbols {
        Symbols { is_brief: true, ..self }
    }

    /// The symbols for the modules of a trace. If a file has changed (its build id differs), it
    /// provides no names rather than wrong ones.
    #[must_use]
    pub fn of_modules(modules: &[Module]) -> Symbols {
        let open = |module: &Module| {
            let right = |image: &Arc<Image>| {
                module.build_id.is_empty() || image.build_id() == module.build_id
            };
            Image::open(Path::new(&module.path)).filter(right).or_else(|| {
                let link = separate_debug::by_build_id(&module.build_id, "")?;
                let debug = separate_debug::by_build_id(&module.build_id, ".debug")?;
                [link, debug].iter().find_map(|path| Image::open(path).filter(right))
            })
        };
        let images = modules.iter().map(open).collect();
        Symbols { map: ModuleMap::unloaded(modules), images, ..Default::default() }
    }

    /// Reads the loaded modules of the process again. Modules keep their numbers.
    ///
    /// # Errors
    /// If the process has ended or may not be inspected.
    pub fn refresh(&mut self, pid: i32) -> Result<(), Error> {
        let failed = || Error::system(format!("cannot read the memory map of process {pid}"));
        let mappings = read_maps(pid).map_err(failed())?;
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).map_err(failed())?;
        let program = program.to_string_lossy();
        let program = program.strip_suffix(" (deleted)").unwrap_or(&program);
        let layout = |mapping: &Mapping| Some(open(pid, program, mapping)?.layout().clone());
        let now = ModuleMap::build(&mappings, program, layout);
        self.map.update(now);
        for loaded in &self.map.modules()[self.images.len()..] {
            let mapping = mappings.iter().find(|mapping| mapping.path == loaded.module.path);
            self.images.push(mapping.and_then(|mapping| open(pid, program, mapping)));
        }
        Ok(())
    }

    /// The modules that sites refer to; number 0 is the program.
    #[must_use]
    pub fn modules(&self) -> Vec<Module> {
        self.map.modules().iter().map(|loaded| loaded.module.clone()).collect()
    }

    /// The addresses of the modules.
    #[must_use]
    pub fn map(&self) -> &ModuleMap {
        &self.map
    }

    /// The module and offset of an address of the process.
    #[must_use]
    pub fn site(&self, address: u64) -> Option<Site> {
        self.map.site(address)
    }

    /// The address of a site in the process.
    #[must_use]
    pub fn address(&self, site: Site) -> Option<u64> {
        self.map.address(site)
    }

    /// The range of the function around an address, from call frame information.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<Range<u64>> {
        let site = self.site(address)?;
        let range = self.image(site)?.function(site.offset)?;
        let start = self.address(Site { offset: range.start, ..site })?;
        Some(start..start.checked_add(range.end - range.start)?)
    }

    fn image(&self, site: Site) -> Option<&Arc<Image>> {
        self.images.get(usize::from(site.module))?.as_ref()
    }

    /// The frames of a site: inlined calls innermost first, the function itself last. Unless
    /// `exact`, the site is a return address and the call before it is meant. Never empty.
    #[must_use]
    pub fn frames(&self, site: Site, exact: bool) -> Vec<Frame> {
        let cache = || self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(frames) = cache().get(&(site, exact)) {
            return frames.clone();
        }
        let frames = self.look_up(site, exact);
        cache().insert((site, exact), frames.clone());
        frames
    }

    fn look_up(&self, site: Site, exact: bool) -> Vec<Frame> {
        let module = self.map.modules().get(usize::from(site.module));
        let module = module.map(|loaded| loaded.module.path.clone()).unwrap_or_default();
        let unknown = Frame { site: Some(site), module, ..Default::default() };
        let Some(image) = self.image(site) else { return vec![unknown] };
        let address = if exact { site.offset } else { site.offset.saturating_sub(1) };
        let symbol = || image.table().function(address).map(|symbol| names::function(symbol.name));
        let lines = match self.has_debug_information(site) {
            true => image.lines(address),
            false => Vec::new(),
        };
        let last = lines.len().saturating_sub(1);
        let mut frames = Vec::with_capacity(lines.len().max(1));
        for (index, line) in lines.into_iter().enumerate() {
            let function = match line.function {
                Some(name) => names::function(&name),
                None if index == last => symbol().unwrap_or_default(),
                None => String::new(),
            };
            frames.push(Frame {
                function,
                file: line.file,
                line: line.line,
                column: line.column,
                inlined: index < last,
                ..unknown.clone()
            });
        }
        if frames.is_empty() {
            frames.push(Frame { function: symbol().unwrap_or_default(), ..unknown });
        }
        frames
    }

    /// The static variable that contains a site, and which part of it: `queue.lock`, `forks[2]`, or
    /// `queue+0x18` if the types are unknown.
    #[must_use]
    pub fn variable(&self, site: Site) -> Option<String> {
        let image = self.image(site)?;
        let symbol = image.table().variable(site.offset)?;
        let (name, offset) = (names::variable(symbol.name), site.offset - symbol.address);
        let part = match self.has_debug_information(site) {
            true => image.part(symbol.address, offset),
            false => None,
        };
        Some(match part {
            Some(part) => name + &part,
            None => names::with_offset(name, offset),
        })
    }

    /// Whether the debug information of the module around a site is read.
    fn has_debug_information(&self, site: Site) -> bool {
        let module = self.map.modules().get(usize::from(site.module));
        !self.is_brief
            || module.is_some_and(|loaded| !names::is_system_library(&loaded.module.path))
    }

    /// The frames of a task's stack, for [`Symbols::local`].
    #[must_use]
    pub fn live(&self, registers: &Registers, exact: bool, memory: &dyn Memory) -> Vec<LiveFrame> {
        let mut frames: Vec<LiveFrame> = Vec::new();
        unwind::walk(self, memory, registers, exact, &mut |frame, registers| {
            if let Some(last) = frames.last_mut() {
                last.end = frame.rsp;
            }
            frames.push(LiveFrame { frame, registers: *registers, end: frame.rsp });
            frames.len() < MAX_FRAMES
        });
        frames
    }

    /// The address of the return address of the outermost frame that hidden code called: frames around
    /// that code do not count.
    pub(crate) fn caller_slot(
        &self,
        frames: &[LiveFrame],
        is_hidden: &dyn Fn(u64) -> bool,
    ) -> Option<u64> {
        let last = frames.iter().rposition(|live| is_hidden(live.frame.address))?;
        let own = frames[..last].iter().rposition(|live| !is_hidden(live.frame.address))?;
        Some(frames[own].end - 8)
    }

    /// The local variable that contains a stack address, and which part of it: `main::pool.lock`.
    #[must_use]
    pub fn local(&self, frames: &[LiveFrame], address: u64, memory: &dyn Memory) -> Option<String> {
        let live = frames.iter().find(|live| (live.frame.rsp..live.end).contains(&address))?;
        let (image, frame) = self.described(live)?;
        image.local(&frame, &memory::Words::new(memory), address)
    }

    fn described<'a>(&self, live: &'a LiveFrame) -> Option<(&Arc<Image>, variables::Frame<'a>)> {
        let site = self.site(live.frame.address)?;
        let address = if live.frame.exact { site.offset } else { site.offset.saturating_sub(1) };
        let frame = variables::Frame { address, registers: &live.registers, end: live.end };
        Some((self.image(site)?, frame))
    }

    /// The names and values of the variables of a frame.
    pub(crate) fn frame_values(&self, live: &LiveFrame, memory: &dyn Memory) -> FrameValues {
        let Some((image, frame)) = self.described(live) else { return Vec::new() };
        image.frame_values(&frame, &memory::Words::new(memory))
    }

    /// The variables of a frame, if it is in user code.
    fn locals(
        &self,
        live: &LiveFrame,
        memory: &dyn Memory,
    ) -> Vec<(&Arc<Image>, variables::Local)> {
        let own = |frame: &Frame| !frame.file.is_empty() && !is_library(&frame.file);
        let site = self.site(live.frame.address);
        if !site.is_some_and(|site| self.frames(site, live.frame.exact).iter().any(own)) {
            return Vec::new();
        }
        let Some((image, frame)) = self.described(live) else { return Vec::new() };
        let words = memory::Words::new(memory);
        image.locals(&frame, &words).into_iter().map(|local| (image, local)).collect()
    }

    /// The value of an expression over a static variable, or why it has none; none if no module has
    /// such a variable.
    #[must_use]
    pub fn static_value(
        &self,
        expression: &expressions::Expression,
        memory: &dyn Memory,
    ) -> Option<Result<String, String>> {
        Some(self.locate_static(expression, memory)?.map(|located| located.value))
    }

    /// Where the value of an expression over a static variable is; none if there is no such
    /// variable.
    #[must_use]
    pub fn locate_static(
        &self,
        expression: &expressions::Expression,
        memory: &dyn Memory,
    ) -> Option<Result<Located, String>> {
        let words = memory::Words::new(memory);
        self.images.iter().enumerate().find_map(|(module, image)| {
            let path = &self.map.modules().get(module)?.module.path;
            let is_own = !names::is_system_library(path);
            let moved = |offset| self.map.address(Site { module: module as u16, offset });
            image.as_ref().filter(|_| is_own)?.locate_static(expression, &moved, &words)
        })
    }

    /// The value of an expression over a local variable in a task's frames ([`Symbols::live`]); the
    /// innermost variable of the name is used.
    #[must_use]
    pub fn local_value(
        &self,
        expression: &expressions::Expression,
        frames: &[LiveFrame],
        memory: &dyn Memory,
    ) -> Option<Result<String, String>> {
        let (_, located) = self.locate_local(expression, frames, memory)?;
        Some(located.map(|located| located.value))
    }

    /// Where the value of an expression over a local variable is, and the index of the frame of the
    /// innermost variable of the name.
    #[must_use]
    pub fn locate_local(
        &self,
        expression: &expressions::Expression,
        frames: &[LiveFrame],
        memory: &dyn Memory,
    ) -> Option<(usize, Result<Located, String>)> {
        let words = memory::Words::new(memory);
        frames.iter().enumerate().find_map(|(index, live)| {
            let site = self.site(live.frame.address)?;
            let address = site.offset.saturating_sub(u64::from(!live.frame.exact));
            let frame = variables::Frame { address, registers: &live.registers, end: live.end };
            Some((index, self.image(site)?.locate_local(expression, &frame, &words)?))
        })
    }

    /// The address of a symbol in the first module that exports it.
    #[must_use]
    pub fn exported(&self, name: &str) -> Option<u64> {
        self.images.iter().enumerate().find_map(|(number, image)| {
            let offset = image.as_ref()?.exported(name)?;
            self.map.address(Site { module: number as u16, offset })
        })
    }

    /// The name of the function at an address of the process.
    #[must_use]
    pub fn start_function(&self, address: u64) -> Option<String> {
        let site = self.site(address)?;
        let name = self.frames(site, true).pop()?.function;
        (!name.is_empty()).then_some(name)
    }

    /// The frames of a stack, innermost first, at most [`MAX_FRAMES`]. `exact` says whether rip is
    /// an instruction and not a return address. Frames in modules whose path contains `hide` (if
    /// not empty) are omitted.
    #[must_use]
    pub fn unwind(
        &self,
        registers: &Registers,
        exact: bool,
        memory: &dyn Memory,
        hide: &str,
    ) -> Vec<StackFrame> {
        let mut frames = unwind::unwind(self, memory, registers, exact);
        if !hide.is_empty() {
            frames.retain(|frame| {
                let site = self.site(frame.address);
                let module = site.and_then(|site| self.map.modules().get(usize::from(site.module)));
                module.is_none_or(|loaded| !loaded.module.path.contains(hide))
            });
        }
        frames
    }

    /// The registers of the innermost frame outside of the `hidden` code, and whether rip is an
    /// instruction there and not a return address.
    #[must_use]
    pub fn outside(
        &self,
        registers: &Registers,
        exact: bool,
        memory: &dyn Memory,
        hidden: &dyn Fn(u64) -> bool,
    ) -> Option<(Registers, bool)> {
        let mut found = None;
        let mut left = MAX_FRAMES;
        unwind::walk(self, memory, registers, exact, &mut |frame, registers| {
            left -= 1;
            if !hidden(frame.address) {
                found = Some((*registers, frame.exact));
            }
            found.is_none() && left > 0
        });
        found
    }

    /// The frames of [`Symbols::unwind`] with names.
    #[must_use]
    pub fn stack(
        &self,
        registers: &Registers,
        exact: bool,
        memory: &dyn Memory,
        hide: &str,
    ) -> Vec<Frame> {
        let frames = self.unwind(registers, exact, memory, hide);
        frames
            .iter()
            .flat_map(|frame| match self.site(frame.address) {
                Some(site) => self.frames(site, frame.exact),
                None => vec![Frame::default()],
            })
            .collect()
    }
}

impl unwind::Code for Symbols {
    fn row(&self, address: u64) -> Option<Arc<cfi::Row>> {
        let site = self.site(address)?;
        let cache = || self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = cache().get(&site) {
            return row.clone();
        }
        let image = self.image(site)?;
        let row = image.row(site.offset).map(Arc::new);
        cache().insert(site, row.clone());
        row
    }

    fn is_code(&self, address: u64) -> bool {
        self.map.is_code(address)
    }
}

/// The image of a mapped file, from wherever it can still be read.
fn open(pid: i32, program: &str, mapping: &Mapping) -> Option<Arc<Image>> {
    let path = Path::new(&mapping.path);
    let range = &mapping.range;
    // These links lead to the mapped file even if its path now names another one; but `map_files`
    // requires privileges.
    let exe = || {
        let link = PathBuf::from(format!("/proc/{pid}/exe"));
        (mapping.path == program).then(|| Image::open_at(path, &link)).flatten()
    };
    let file = || {
        let link = format!("/proc/{pid}/map_files/{:x}-{:x}", range.start, range.end);
        Image::open_at(path, Path::new(&link))
    };
    let named = || (!mapping.deleted).then(|| Image::open(path)).flatten();
    named().or_else(exe).or_else(file)
}
