//! The outline of a module's code: its functions, whether each can be decoded, and the targets of branches.
//!
//! Functions are found by the unwind tables, which compilers write for all functions and which
//! survive stripping, and decoded from start to end. A function is skipped if any byte of it cannot
//! be decoded, or one of its branches leads into the middle of an instruction: only code that was
//! decoded with certainty is patched.
//!
//! The outline of all code is needed before the first probe is placed, since a branch into a function may be anywhere
//! in its module. What the instructions of a function access is [determined](super::decode) only when the program is
//! about to execute it, which takes most of the time.

use crate::instrument::binary::address_set::AddressSet;
use crate::instrument::binary::branch_targets::{Named, landings};
use crate::instrument::binary::image::{Image, Lands, Listed};
use crate::instrument::binary::rust_library::Known;
use crate::instrument::binary::site;
use iced_x86::{
    Code as Instructions, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind,
};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use traces::points::InstrumentationGap;

/// A function that has room for probes.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether its branch targets are certain to be complete.
    pub(super) certain: bool,
    /// Whether its instructions can be decoded. Of another one only the entry is probed.
    pub(super) is_decodable: bool,
    /// Whether some of its probes are needed in each execution.
    pub(super) is_always_needed: bool,
    /// The number of its first probe, and for how many probes and changed ranges there is room.
    pub(super) first: u32,
    pub(super) room: u32,
    /// How many probes it has; none while its instructions were not decoded.
    pub(super) probes: Cell<Option<u32>>,
    /// How many ranges of its text are changed.
    pub(super) patches: Cell<u32>,
    /// Whether the probes that are wanted now are installed.
    pub(super) is_placed: Cell<bool>,
}

/// The outline of one module.
#[derive(Debug)]
pub(super) struct Outline {
    /// Ascending by address.
    pub(super) functions: Vec<Function>,
    pub(super) targets: AddressSet,
    /// Bytes of functions, and of code between them.
    pub(super) bytes: u64,
    /// Bytes of functions that can be decoded.
    pub(super) covered: u64,
    /// Bits of [`InstrumentationGap`].
    pub(super) unseen: u64,
    /// Whether code that takes the address of a thread-local variable may exist.
    pub(super) shares_thread_locals: bool,
    /// For how many probes there is room.
    pub(super) room: u32,
}

/// What the outline of a module depends on.
pub(super) struct Request<'a> {
    pub(super) image: &'a Image,
    pub(super) listed: &'a [Listed],
    /// The functions of Rust's standard library in it.
    pub(super) known: &'a HashMap<u64, Known>,
    /// If only some instructions are wanted, the addresses behind them, ascending: only the functions that contain
    /// them are listed.
    pub(super) wanted: Option<&'a [u64]>,
    /// The addresses of sites of predicates in it, ascending.
    pub(super) predicates: &'a [u64],
}

impl Request<'_> {
    /// Whether a function is not explored like all others, so that the runtime needs it at all times.
    fn is_always_needed(&self, start: u64) -> bool {
        matches!(
            self.known.get(&start),
            Some(Known::LocksMutex | Known::Snoozes { .. } | Known::OfChannel)
        )
    }

    /// Whether a wanted instruction is in a function.
    fn is_wanted(&self, &Listed { start, end, .. }: &Listed) -> bool {
        self.wanted.is_none_or(|wanted| {
            let next = wanted.partition_point(|&behind| behind <= start);
            wanted.get(next).is_some_and(|&behind| behind <= end)
        })
    }

    /// The outline of the code in `text`.
    pub(super) fn outline(&self, text: (u64, u64)) -> Outline {
        let mut outline = Outline {
            functions: Vec::new(),
            targets: AddressSet::of(text),
            bytes: 0,
            covered: 0,
            unseen: 0,
            shares_thread_locals: false,
            room: 0,
        };
        if self.listed.is_empty() {
            outline.bytes = text.1 - text.0;
            outline.unseen = InstrumentationGap::Unlisted as u64;
            return outline;
        }
        let (mut families, mut named) = (Families::default(), Named::default());
        let mut starts = AddressSet::of(text);
        // In a system library code counts when it is entered.
        let is_own = self.image.is_own();
        outline.bytes = if is_own { self.image.unlisted(text, self.listed) } else { 0 };
        // The rest of a module that is outlined in part may take the address of one.
        outline.shares_thread_locals = self.wanted.is_some();
        for listed in self.listed {
            let &Listed { start, end, lands } = listed;
            outline.bytes += end - start;
            let is_always_needed = self.is_always_needed(start);
            if !is_always_needed && !self.is_wanted(listed) {
                // The function was decoded when its sites were learned.
                outline.covered += end - start;
                continue;
            }
            let bytes =
                self.image.bytes(start).and_then(|bytes| bytes.get(..(end - start) as usize));
            let found =
                bytes.and_then(|bytes| self.function(text, start, bytes, &mut starts, &mut named));
            let begins = bytes.is_some_and(|bytes| {
                !Decoder::with_ip(64, bytes, start, DecoderOptions::NONE).decode().is_invalid()
            });
            if found.is_none() && (is_own || !begins) {
                continue;
            }
            outline.covered += end - start;
            outline.targets.insert(start);
            let is_decodable = found.is_some();
            let mut found = found.unwrap_or(Found { probes: 1, ..Found::default() });
            outline.shares_thread_locals |= found.reads_thread_pointer;
            let landings = match lands {
                Lands::Nowhere => Some(Vec::new()),
                Lands::By(table) => landings(self.image, table, start),
                Lands::Somewhere => None,
            };
            let certain = is_decodable && landings.is_some() && !(found.jumps && found.labels);
            landings.unwrap_or_default().into_iter().for_each(|at| outline.targets.insert(at));
            let at = families.add();
            for &target in &found.branches {
                outline.targets.insert(target);
                if !(start..end).contains(&target) {
                    families.out.push((at, target));
                }
            }
            let behind = |address: u64| self.predicates.partition_point(|&at| at < address);
            let predicates = behind(end) - behind(start);
            found.probes += predicates as u32;
            outline.functions.push(Function {
                start,
                end,
                certain,
                is_decodable,
                is_always_needed: is_always_needed || found.locks_mutex || predicates > 0,
                first: outline.room,
                room: found.probes,
                probes: Cell::new(None),
                patches: Cell::new(0),
                is_placed: Cell::new(false),
            });
            outline.room += found.probes;
        }
        if outline.covered < outline.bytes {
            outline.unseen |= InstrumentationGap::Undecoded as u64;
        }
        if self.wanted.is_none() {
            named.targets(self.image, text, |target| outline.targets.insert(target));
            families.settle(&mut outline.functions);
        } else {
            // Functions that were not decoded may branch into decoded ones.
            outline.functions.iter_mut().for_each(|function| function.certain = false);
        }
        outline
    }

    /// What matters of one function; none if it cannot be decoded.
    fn function(
        &self,
        text: (u64, u64),
        start: u64,
        bytes: &[u8],
        starts: &mut AddressSet,
        named: &mut Named,
    ) -> Option<Found> {
        let end = start + bytes.len() as u64;
        let mut found = Found::default();
        let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
        let mut instruction = Instruction::default();
        let mut instructions = 0;
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            if instruction.is_invalid() {
                return None;
            }
            instructions += 1;
            starts.insert(instruction.ip());
            found.reads_thread_pointer |= site::reads_thread_pointer(&instruction);
            let label = named.note(self.image, text, &instruction);
            found.labels |=
                label.is_some_and(|label| label != start && (start..end).contains(&label));
            let flow = instruction.flow_control();
            match flow {
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                    found.branches.push(instruction.near_branch_target());
                }
                // A jump through a fixed address in memory leads to another function.
                FlowControl::IndirectBranch => {
                    found.jumps |= !instruction.is_ip_rel_memory_operand();
                }
                _ => {}
            }
            found.probes += u32::from(may_have_probe(&instruction, flow));
            if !self.known.is_empty() {
                let called = called(self.image, &instruction);
                found.locks_mutex |=
                    called.and_then(|at| self.known.get(&at)) == Some(&Known::LocksMutex);
            }
        }
        if !self.known.is_empty() {
            // Any instruction may be a part of the library.
            found.probes = instructions;
        }
        let meets = found
            .branches
            .iter()
            .all(|target| !(start..end).contains(target) || starts.contains(*target));
        meets.then_some(found)
    }
}

/// What matters of one function.
#[derive(Default)]
struct Found {
    /// Its branch targets, inside and outside.
    branches: Vec<u64>,
    /// Whether it has indirect jumps.
    jumps: bool,
    /// Whether it computes addresses inside itself. An indirect jump may then add a distance to
    /// such an address that is not found in any table.
    labels: bool,
    /// Whether it reads the thread pointer.
    reads_thread_pointer: bool,
    /// Whether it calls the function by which Rust's standard library waits for a mutex.
    locks_mutex: bool,
    /// The most probes that it may have.
    probes: u32,
}

/// Whether an instruction may get a probe: it has an operand in memory, leads elsewhere, or reads the clock.
fn may_have_probe(instruction: &Instruction, flow: FlowControl) -> bool {
    let leads = matches!(
        flow,
        FlowControl::Call
            | FlowControl::IndirectCall
            | FlowControl::IndirectBranch
            | FlowControl::UnconditionalBranch
    );
    let is_in_memory = |at| {
        !matches!(
            instruction.op_kind(at),
            OpKind::Register
                | OpKind::NearBranch16
                | OpKind::NearBranch32
                | OpKind::NearBranch64
                | OpKind::FarBranch16
                | OpKind::FarBranch32
                | OpKind::Immediate8
                | OpKind::Immediate8_2nd
                | OpKind::Immediate16
                | OpKind::Immediate32
                | OpKind::Immediate64
                | OpKind::Immediate8to16
                | OpKind::Immediate8to32
                | OpKind::Immediate8to64
                | OpKind::Immediate32to64
        )
    };
    leads
        || (0..instruction.op_count()).any(is_in_memory)
        || matches!(instruction.mnemonic(), Mnemonic::Rdtsc | Mnemonic::Rdtscp)
}

/// The function of the same module that an instruction calls, if that is fixed.
pub(super) fn called(image: &Image, instruction: &Instruction) -> Option<u64> {
    match instruction.code() {
        Instructions::Call_rel32_64 => Some(instruction.near_branch_target()),
        Instructions::Call_rm64 if instruction.is_ip_rel_memory_operand() => {
            image.word(instruction.ip_rel_memory_address())
        }
        _ => None,
    }
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
    /// Adds the next function, and returns its index.
    fn add(&mut self) -> usize {
        self.parent.push(self.parent.len());
        self.parent.len() - 1
    }

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
