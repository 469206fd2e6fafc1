//! Finds the instructions of a function that access memory.
//!
//! That takes most of the time that code needs before it can be probed, so it is done when the program is about to
//! execute the function ([`crate::instrument::binary::demand`]). What has to be known before is in the
//! [outline](super::outline).

use crate::instrument::binary::bounded_spin::{self, BoundedSpin};
use crate::instrument::binary::calls::Calls;
use crate::instrument::binary::counting;
use crate::instrument::binary::image::{Image, Instrumentation};
use crate::instrument::binary::lock_sites::{self, LockPart};
use crate::instrument::binary::outline::{Function, Outline, Request, called};
use crate::instrument::binary::rust_library::{self, Known, LibraryPart};
use crate::instrument::binary::site::{self, Site};
use crate::instrument::binary::snooze_sites;
use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, Register};
use std::collections::HashMap;

/// The most bytes of code that are decoded. An instruction that accesses memory takes some hundred bytes
/// of the runtime's memory, and to decode 10 MB takes a second or more of each start.
const MOST_CODE: u64 = 32 << 20;

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

/// What the decoding of a module's functions needs.
pub(super) struct Source<'a> {
    image: &'a Image,
    calls: Calls<'a>,
    /// The functions of Rust's standard library in it.
    known: HashMap<u64, Known>,
    /// Whether accesses are to be probed, and not only the sites of predicates.
    pub(super) observes: bool,
    /// The addresses of sites of predicates in it, ascending.
    predicates: Vec<u64>,
    /// Whether code that takes the address of a thread-local variable may exist.
    shares_thread_locals: bool,
}

/// A module that may get probes: the range of its code in whole pages, its outline, and what the decoding of its
/// functions needs. None if it needs no probes.
///
/// `observes`: whether accesses are to be probed, and not only the sites of predicates, whose addresses are
/// `predicates`, ascending. If only some instructions are `wanted` (the addresses behind them, ascending), only the
/// functions that contain them are listed.
pub(super) fn module<'a>(
    image: &'a Image,
    calls: Calls<'a>,
    (observes, wanted, predicates): (bool, Option<&[u64]>, &[u64]),
) -> Option<((u64, u64), Outline, Source<'a>)> {
    let (start, end) = image.text()?;
    let here = predicates.iter().copied().filter(|at| (start..end).contains(at));
    let predicates: Vec<u64> = here.collect();
    // Modules that the compiler instrumented fully need no other probes.
    let observes = observes && image.instrumentation() != Instrumentation::Full;
    if !observes && predicates.is_empty() {
        return None;
    }
    let only: Vec<u64> = predicates.iter().map(|&at| at + 1).collect();
    let known = if observes { rust_library::functions(image) } else { HashMap::new() };
    let wanted = if observes { wanted } else { Some(&*only) };
    let listed = calls.functions();
    let request = Request { image, listed, known: &known, wanted, predicates: &predicates };
    let mut outline = request.outline((start, end));
    if !observes {
        (outline.bytes, outline.covered, outline.unseen) = (0, 0, 0);
    }
    let shares_thread_locals = outline.shares_thread_locals;
    let source = Source { image, calls, known, observes, predicates, shares_thread_locals };
    // Whole pages, as their protection changes.
    Some(((start & !4095, end.next_multiple_of(4096)), outline, source))
}

/// The contents of a function.
#[derive(Default)]
pub(super) struct Decoded {
    /// Ascending by address.
    pub(super) sites: Vec<Site>,
    /// The loops that count their reads, by the address of the read.
    pub(super) spins: Vec<(u64, BoundedSpin)>,
}

impl Source<'_> {
    /// The sites of a function.
    pub(super) fn decode(
        &self,
        factory: &mut InstructionInfoFactory,
        function: &Function,
    ) -> Decoded {
        let (start, len) = (function.start, (function.end - function.start) as usize);
        let bytes = self.image.bytes(start).and_then(|bytes| bytes.get(..len));
        let Some(bytes) = bytes else { return Decoded::default() };
        if !function.is_decodable {
            let entry = site::entered(self.image, &self.calls, start, bytes);
            return Decoded { sites: Vec::from_iter(entry), ..Decoded::default() };
        }
        let decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
        let mut instructions = Vec::with_capacity(len / 3); // An instruction has four bytes on average.
        instructions.extend(decoder);
        let mut decoded = match self.known.get(&start) {
            _ if !self.observes => Decoded::default(),
            Some(Known::Unobserved) => Decoded::default(),
            Some(Known::LocksMutex) => {
                self.entry(factory, &instructions, bytes, LibraryPart::Lock(LockPart::Wait))
            }
            Some(&Known::Snoozes { yields }) => {
                self.entry(factory, &instructions, bytes, LibraryPart::Snooze { yields })
            }
            Some(Known::IsVoid | Known::Exchanges | Known::OfChannel) | None => Decoded {
                sites: self.sites(factory, &instructions, bytes),
                spins: bounded_spin::find(
                    &instructions,
                    self.known.get(&start) == Some(&Known::IsVoid),
                ),
            },
        };
        if !self.shares_thread_locals {
            // Only a signal handler that interrupts the task can access one, as it can the task's stack.
            for site in &mut decoded.sites {
                site.stack |= site.operands.iter().any(|one| one.thread_local);
            }
        }
        let from = self.predicates.partition_point(|&address| address < start);
        let here = self.predicates[from..].iter().take_while(|&&address| address < function.end);
        here.for_each(|&address| {
            change(&mut decoded.sites, &instructions, address, |site| site.predicate = true);
        });
        decoded
    }

    /// A function that waits, which the runtime does in its place.
    fn entry(
        &self,
        factory: &mut InstructionInfoFactory,
        instructions: &[Instruction],
        bytes: &[u8],
        part: LibraryPart,
    ) -> Decoded {
        // The runtime returns to the caller, as from a jump.
        let entry =
            instructions.first().map(|one| Site { jumps: true, library: part, ..Site::of(one) });
        let others = self.sites(factory, instructions, bytes);
        let start = entry.as_ref().map(|entry| entry.address);
        let others = others.into_iter().filter(|site| Some(site.address) != start);
        Decoded { sites: entry.into_iter().chain(others).collect(), spins: Vec::new() }
    }

    /// The accesses of a function, and its parts in Rust's standard library.
    fn sites(
        &self,
        factory: &mut InstructionInfoFactory,
        instructions: &[Instruction],
        bytes: &[u8],
    ) -> Vec<Site> {
        let (image, calls) = (self.image, &self.calls);
        let mut sites = Vec::new();
        let mut framed = false;
        // The register that the last instruction added to, as code does before it jumps by a table.
        let mut sum = Register::None;
        let all = if is_linkage_table(bytes) { &[] } else { instructions };
        for (at, instruction) in all.iter().enumerate() {
            // A frame pointer is set up at the start of a function, or not at all.
            framed |= at < 8
                && instruction.mnemonic() == Mnemonic::Mov
                && instruction.op0_register() == Register::RBP
                && instruction.op1_register() == Register::RSP;
            let call = site::call(image, calls, instruction);
            let found =
                call.or_else(|| site::accesses(image, factory, calls, instruction, (framed, sum)));
            sites.extend(found.map(|site| Site { counting: counting::of(all, at), ..site }));
            sum = match instruction.mnemonic() {
                Mnemonic::Add => instruction.op0_register(),
                _ => Register::None,
            };
        }
        // Most modules are in other languages.
        if self.known.is_empty() {
            return sites;
        }
        let is_call = |one: &Instruction, of| {
            called(image, one).and_then(|target| self.known.get(&target)) == Some(&of)
        };
        let waits = |one: &Instruction| is_call(one, Known::LocksMutex);
        let exchanges = |one: &Instruction| is_call(one, Known::Exchanges);
        for (address, part) in lock_sites::find(instructions, waits, exchanges) {
            let part = LibraryPart::Lock(part);
            change(&mut sites, instructions, address, |site| site.library = part);
        }
        let start = instructions.first().map_or(0, Instruction::ip);
        if self.known.get(&start) == Some(&Known::OfChannel) {
            for (address, counters) in snooze_sites::find(instructions) {
                let part = LibraryPart::Counts(counters);
                change(&mut sites, instructions, address, |site| site.library = part);
            }
        }
        sites
    }
}

/// Changes the site at an address, which is added if there is none.
fn change(
    sites: &mut Vec<Site>,
    function: &[Instruction],
    address: u64,
    change: impl FnOnce(&mut Site),
) {
    let at = match sites.binary_search_by_key(&address, |site| site.address) {
        Ok(at) => at,
        Err(at) => {
            let Ok(one) = function.binary_search_by_key(&address, Instruction::ip) else { return };
            sites.insert(at, Site::of(&function[one]));
            at
        }
    };
    change(&mut sites[at]);
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
