//! Finds the instructions of the program's own code that access memory.
//!
//! Functions are found by the unwind tables, which compilers write for all functions and which
//! survive stripping, and decoded from start to end. A function is skipped if any byte of it cannot
//! be decoded, or one of its branches leads into the middle of an instruction: only code that was
//! decoded with certainty is patched.

use crate::instrument::binary::bounded_spin::{self, BoundedSpin};
use crate::instrument::binary::branch_targets::{Named, landings};
use crate::instrument::binary::calls::Calls;
use crate::instrument::binary::catalogue::Catalogue;
use crate::instrument::binary::image::{Image, Instrumentation, Lands, Listed};
use crate::instrument::binary::lock_sites::{self, LockPart};
use crate::instrument::binary::rust_library::{self, Known, LibraryPart};
use crate::instrument::binary::site::{self, Site};
use crate::instrument::binary::snooze_sites;
use iced_x86::{
    Code as Instructions, Decoder, DecoderOptions, FlowControl, Instruction,
    InstructionInfoFactory, Mnemonic, Register,
};
use std::collections::{HashMap, HashSet};
use traces::points::InstrumentationGap;

/// A decoded function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Function {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether its branch targets are certain to be complete.
    pub(super) certain: bool,
}

/// The result of decoding one module.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// Ascending by address.
    pub(super) sites: Vec<Site>,
    /// The loops that count their reads, by the address of the read.
    pub(super) spins: Vec<(u64, BoundedSpin)>,
    /// The range of the code, in whole pages.
    pub(super) text: (u64, u64),
    /// The decoded functions, ascending.
    pub(super) functions: Vec<Function>,
    /// Branch targets, ascending.
    pub(super) targets: Vec<u64>,
    /// Bytes of functions, and of code between them.
    pub(super) bytes: u64,
    /// Bytes of decoded functions.
    pub(super) covered: u64,
    /// Bits of [`InstrumentationGap`].
    pub(super) unseen: u64,
}

/// The most bytes of code that are decoded. An instruction that accesses memory takes some hundred bytes
/// of the runtime's memory, and to decode 10 MB takes a second or more of each start.
const MOST_CODE: u64 = 32 << 20;

/// How many bytes of code there are for each instruction that accesses memory, at least; and for how many bytes room is
/// reserved.
const BYTES_FOR_EACH_SITE: usize = 13;
const MOST_RESERVED: u64 = 8 << 20;

/// All modules of the process, and whether each is instrumented. Of the system's libraries, the largest
/// are left out where all together have too much code: calls of their functions are then unknown ones,
/// and reported by name.
pub(super) fn modules() -> Vec<(Image, bool)> {
    let with_reach = |image: Image| {
        // Without tables of its functions, calls of a system library are unknown ones, too.
        let is_observed = image.is_observed() && (image.is_own() || image.lists_functions());
        (image, is_observed)
    };
    let mut all: Vec<(Image, bool)> = Image::all().into_iter().map(with_reach).collect();
    let size = |image: &Image| image.text().map_or(0, |(start, end)| end - start);
    let observed = || all.iter().enumerate().filter(|(_, (_, is_observed))| *is_observed);
    let own: u64 = observed()
        .filter(|(_, (image, _))| image.is_own())
        .map(|(_, (image, _))| size(image))
        .sum();
    let mut others: Vec<(u64, usize)> = observed()
        .filter(|(_, (image, _))| !image.is_own())
        .map(|(at, (image, _))| (size(image), at))
        .collect();
    others.sort_unstable();
    let mut total = own;
    for (bytes, at) in others {
        total += bytes;
        all[at].1 &= total <= MOST_CODE;
    }
    all
}

/// Decodes the code of the executable and the program's own libraries. If only some instructions
/// are wanted (the addresses behind them, ascending), only the functions that contain them.
///
/// `predicates` are the addresses of sites of predicates, ascending. `observes`: whether accesses are
/// wanted at all, and not only those sites.
pub(super) fn program(
    wanted: Option<&[u64]>,
    predicates: &[u64],
    observes: bool,
    modules: &[(Image, bool)],
    catalogue: &Catalogue,
) -> Vec<Code> {
    let mut all = Vec::new();
    for (image, _) in modules.iter().filter(|(_, is_observed)| *is_observed) {
        let within = |&&at: &&u64| image.text().is_some_and(|(low, high)| low <= at && at < high);
        let here: Vec<u64> = predicates.iter().filter(within).copied().collect();
        // Modules that the compiler instrumented fully need no other probes.
        let is_full = !observes || image.instrumentation() == Instrumentation::Full;
        if is_full && here.is_empty() {
            continue;
        }
        let only: Vec<u64> = here.iter().map(|&at| at + 1).collect();
        let mut code =
            module(image, catalogue, modules, if is_full { Some(&only) } else { wanted });
        if is_full {
            code.sites.clear();
            code.spins.clear();
            (code.bytes, code.covered, code.unseen) = (0, 0, 0);
        }
        here.iter().for_each(|&at| code.add_predicate(image, at));
        all.push(code);
    }
    all
}

impl Code {
    /// Adds a function that waits for a mutex, and whose accesses are at `sites`.
    fn add_entry(&mut self, image: &Image, (start, part): (u64, LibraryPart), sites: Vec<Site>) {
        let bytes = image.bytes(start).unwrap_or_default();
        let entry = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).decode();
        // The runtime returns to the caller, as from a jump.
        let entry = Site { jumps: true, library: part, ..Site::of(&entry) };
        self.sites.push(entry);
        self.sites.extend(sites.into_iter().filter(|site| site.address != start));
    }

    /// Adds the site of a predicate, unless it is in no decoded function.
    fn add_predicate(&mut self, image: &Image, address: u64) {
        let at = match self.sites.binary_search_by_key(&address, |site| site.address) {
            Ok(at) => {
                self.sites[at].predicate = true;
                return;
            }
            Err(at) => at,
        };
        let function = self.functions.iter().find(|one| one.start <= address && address < one.end);
        let bytes = function.and_then(|one| image.bytes(one.start).map(|bytes| (one, bytes)));
        let Some((function, bytes)) = bytes else { return };
        let bytes = &bytes[..(function.end - function.start) as usize];
        let mut decoder = Decoder::with_ip(64, bytes, function.start, DecoderOptions::NONE);
        let instruction = decoder.iter().find(|one| one.ip() >= address);
        let Some(instruction) = instruction.filter(|one| one.ip() == address) else { return };
        let site = Site { predicate: true, ..Site::of(&instruction) };
        self.sites.insert(at, site);
    }
}

fn module(
    image: &Image,
    catalogue: &Catalogue,
    modules: &[(Image, bool)],
    wanted: Option<&[u64]>,
) -> Code {
    let mut code = Code::default();
    let Some(text) = image.text() else { return code };
    code.text = (text.0 & !4095, text.1.next_multiple_of(4096));
    let mut factory = InstructionInfoFactory::new();
    let Some(functions) = image.functions(text).filter(|functions| !functions.is_empty()) else {
        code.bytes = text.1 - text.0;
        code.unseen = InstrumentationGap::Unlisted as u64;
        return code;
    };
    let calls = Calls::of(image, &functions, catalogue, modules);
    if wanted.is_none() {
        // A list that grows is copied to fresh memory again and again.
        code.sites.reserve((text.1 - text.0).min(MOST_RESERVED) as usize / BYTES_FOR_EACH_SITE);
    }
    // In a system library code counts when it is entered.
    code.bytes = if image.is_own() { image.unlisted(text, &functions) } else { 0 };
    let (mut families, mut named) = (Families::default(), Named::default());
    let known = rust_library::functions(image);
    // The rest of a module that was decoded in part may read it.
    let mut thread_pointer = wanted.is_some();
    for listed in &functions {
        let &Listed { start, end, lands } = listed;
        code.bytes += end - start;
        let within = |wanted: &[u64]| {
            wanted
                .get(wanted.partition_point(|&behind| behind <= start))
                .is_some_and(|&at| at <= end)
        };
        let is_always_needed = matches!(
            known.get(&start),
            Some(Known::LocksMutex | Known::Snoozes { .. } | Known::OfChannel)
        );
        if !is_always_needed && !wanted.is_none_or(within) {
            // The function was decoded when its sites were learned.
            code.covered += end - start;
            continue;
        }
        let bytes = image.bytes(start).and_then(|bytes| bytes.get(..(end - start) as usize));
        let decoded = bytes.and_then(|bytes| {
            function(image, &mut factory, &calls, &mut named, (text, &known), start, bytes)
        });
        let Some(decoded) = decoded else {
            if let Some(site) = bytes.and_then(|bytes| site::entered(image, &calls, start, bytes)) {
                code.covered += end - start;
                code.sites.push(site);
                code.functions.push(Function { start, end, certain: false });
                code.targets.push(start);
                families.parent.push(families.parent.len());
            }
            continue;
        };
        code.covered += end - start;
        thread_pointer |= decoded.thread_pointer;
        match known.get(&start) {
            Some(Known::Unobserved) => {}
            Some(Known::LocksMutex) => {
                code.add_entry(image, (start, LibraryPart::Lock(LockPart::Wait)), decoded.sites);
            }
            Some(&Known::Snoozes { yields }) => {
                code.add_entry(image, (start, LibraryPart::Snooze { yields }), decoded.sites);
            }
            Some(Known::IsVoid | Known::Exchanges | Known::OfChannel) | None => {
                code.sites.extend(decoded.sites);
                code.spins.extend(decoded.spins);
            }
        }
        let landings = match lands {
            Lands::Nowhere => Some(Vec::new()),
            Lands::By(table) => landings(image, table, start),
            Lands::Somewhere => None,
        };
        let certain = landings.is_some() && !(decoded.jumps && decoded.labels);
        code.functions.push(Function { start, end, certain });
        code.targets.push(start);
        code.targets.extend(landings.unwrap_or_default());
        let at = families.parent.len();
        families.parent.push(at);
        let out = decoded.branches.iter().filter(|target| !(start..end).contains(target));
        families.out.extend(out.map(|&target| (at, target)));
        code.targets.extend(decoded.branches);
    }
    if code.covered < code.bytes {
        code.unseen |= InstrumentationGap::Undecoded as u64;
    }
    if !thread_pointer {
        // Only a signal handler that interrupts the task can access one, as it can the task's stack.
        for site in &mut code.sites {
            site.stack |= site.operands.iter().any(|one| one.thread_local);
        }
    }
    code.targets.extend(named.targets(image, text));
    code.targets.sort_unstable();
    code.targets.dedup();
    families.settle(&mut code.functions);
    // Functions that were not decoded may branch into decoded ones.
    code.functions.iter_mut().for_each(|function| function.certain &= wanted.is_none());
    code
}

/// Groups of functions that branch into each other, as the parts do into which a compiler splits a
/// function: branch targets are certain for all of a group or for none.
#[derive(Default)]
struct Families {
    parent: Vec<usize>,
    /// Branches out of a function: its index, and the target.
    out: Vec<(usize, u64)>,
}

impl Families {
    fn root(&mut self, mut at: usize) -> usize {
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    /// Marks all functions of a group as uncertain if one is.
    fn settle(mut self, functions: &mut [Function]) {
        for (from, target) in std::mem::take(&mut self.out) {
            let to = functions.partition_point(|function| function.start <= target);
            // A branch to the start of a function is a tail call.
            let Some(to) = to.checked_sub(1).filter(|&to| functions[to].start != target) else {
                continue;
            };
            if functions[to].end > target {
                let (from, to) = (self.root(from), self.root(to));
                self.parent[from] = to;
            }
        }
        let mut uncertain = HashSet::new();
        for (at, _) in functions.iter().enumerate().filter(|(_, function)| !function.certain) {
            uncertain.insert(self.root(at));
        }
        for (at, function) in functions.iter_mut().enumerate() {
            function.certain = !uncertain.contains(&self.root(at));
        }
    }
}

/// The contents of a function.
struct Decoded {
    sites: Vec<Site>,
    spins: Vec<(u64, BoundedSpin)>,
    /// Its branch targets, inside and outside.
    branches: Vec<u64>,
    /// Whether it has indirect jumps.
    jumps: bool,
    /// Whether it reads the thread pointer.
    thread_pointer: bool,
    /// Whether it computes addresses inside itself. An indirect jump may then add a distance to
    /// such an address that is not found in any table.
    labels: bool,
}

/// Whether a range of code that unwind tables describe as one function is a linkage table: entries that
/// only jump to functions of other modules. What these do is observed where an entry is called.
///
/// No function that a compiler makes looks like that: the lazy table begins by pushing one word of the
/// global offset table and jumping through the next one, and the others consist of padded jumps alone.
fn is_linkage_table(bytes: &[u8]) -> bool {
    const PUSH: [u8; 2] = [0xff, 0x35];
    const JUMP: [u8; 2] = [0xff, 0x25];
    const MARK: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
    const BOUND: u8 = 0xf2;
    let is_lazy = bytes.starts_with(&PUSH) && bytes.get(6..8) == Some(&JUMP);
    let is_marked = |entry: &[u8]| {
        let jump = entry.strip_prefix(&MARK).unwrap_or_default();
        jump.strip_prefix(&[BOUND]).unwrap_or(jump).starts_with(&JUMP)
    };
    let is_plain = |entry: &[u8]| entry.starts_with(&JUMP) && entry[6..] == [0x66, 0x90];
    let all = |len: usize, is_entry: &dyn Fn(&[u8]) -> bool| {
        !bytes.is_empty() && bytes.len().is_multiple_of(len) && bytes.chunks(len).all(is_entry)
    };
    is_lazy || all(16, &is_marked) || all(8, &is_plain)
}

/// Decodes one function; none if it has to be skipped.
fn function(
    image: &Image,
    factory: &mut InstructionInfoFactory,
    calls: &Calls<'_>,
    named: &mut Named,
    (text, known): ((u64, u64), &HashMap<u64, Known>),
    start: u64,
    bytes: &[u8],
) -> Option<Decoded> {
    let end = start + bytes.len() as u64;
    let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
    let mut branches = Vec::new();
    let (mut sites, mut framed, mut jumps, mut labels) = (Vec::new(), false, false, false);
    let mut thread_pointer = false;
    // Instructions have four bytes on average.
    let mut instructions: Vec<Instruction> = Vec::with_capacity(bytes.len() / 3);
    let links = is_linkage_table(bytes);
    // The register that the last instruction added to, as code does before it jumps by a table.
    let mut sum = Register::None;
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return None;
        }
        // A frame pointer is set up at the start of a function, or not at all.
        framed |= instructions.len() < 8
            && instruction.mnemonic() == Mnemonic::Mov
            && instruction.op0_register() == Register::RBP
            && instruction.op1_register() == Register::RSP;
        thread_pointer |= site::reads_thread_pointer(&instruction);
        let label = named.note(image, text, &instruction);
        labels |= label.is_some_and(|label| label != start && (start..end).contains(&label));
        match instruction.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                branches.push(instruction.near_branch_target());
            }
            // A jump through a fixed address in memory leads to another function.
            FlowControl::IndirectBranch => jumps |= !instruction.is_ip_rel_memory_operand(),
            _ => {}
        }
        if !links {
            let call = site::call(image, calls, &instruction);
            sites.extend(
                call.or_else(|| site::accesses(image, factory, calls, &instruction, (framed, sum))),
            );
        }
        sum = match instruction.mnemonic() {
            Mnemonic::Add => instruction.op0_register(),
            _ => Register::None,
        };
        instructions.push(instruction);
    }
    let within = branches.iter().filter(|target| (start..end).contains(target));
    let is_start =
        |target: &u64| instructions.binary_search_by_key(target, Instruction::ip).is_ok();
    let meets = within.into_iter().all(is_start);
    meets.then(|| {
        let is_void = known.get(&start) == Some(&Known::IsVoid);
        let spins = bounded_spin::find(&instructions, is_void);
        let is_call = |one: &Instruction, of| {
            called(image, one).and_then(|target| known.get(&target)) == Some(&of)
        };
        let waits = |one: &Instruction| is_call(one, Known::LocksMutex);
        let exchanges = |one: &Instruction| is_call(one, Known::Exchanges);
        // Most modules are in other languages.
        if !known.is_empty() {
            for (address, part) in lock_sites::find(&instructions, waits, exchanges) {
                set_part(&mut sites, &instructions, address, LibraryPart::Lock(part));
            }
        }
        if known.get(&start) == Some(&Known::OfChannel) {
            for (address, counters) in snooze_sites::find(&instructions) {
                set_part(&mut sites, &instructions, address, LibraryPart::Counts(counters));
            }
        }
        Decoded { sites, spins, branches, jumps, thread_pointer, labels }
    })
}

/// The function of the same module that an instruction calls, if that is fixed.
fn called(image: &Image, instruction: &Instruction) -> Option<u64> {
    match instruction.code() {
        Instructions::Call_rel32_64 => Some(instruction.near_branch_target()),
        Instructions::Call_rm64 if instruction.is_ip_rel_memory_operand() => {
            image.word(instruction.ip_rel_memory_address())
        }
        _ => None,
    }
}

/// Marks an instruction as a part of the library.
fn set_part(sites: &mut Vec<Site>, function: &[Instruction], address: u64, part: LibraryPart) {
    match sites.binary_search_by_key(&address, |site| site.address) {
        Ok(at) => sites[at].library = part,
        Err(at) => {
            if let Ok(one) = function.binary_search_by_key(&address, Instruction::ip) {
                sites.insert(at, Site { library: part, ..Site::of(&function[one]) });
            }
        }
    }
}
