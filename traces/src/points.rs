//! Which memory accesses are scheduling points, and how processes exchange that knowledge.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Where the scheduler may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// Only at calls of thread functions and other modelled functions.
    Api,
    /// Also at memory accesses that were found to conflict.
    #[default]
    Racy,
    /// At every instrumented memory access.
    All,
}

impl Granularity {
    /// The name on the command line and in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Granularity::Api => "api",
            Granularity::Racy => "racy",
            Granularity::All => "all",
        }
    }

    /// The granularity with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Granularity> {
        [Granularity::Api, Granularity::Racy, Granularity::All]
            .into_iter()
            .find(|one| one.name() == name)
    }
}

/// Where a search begins (`--begin-at`). Up to there each execution follows one schedule, and no memory access is
/// a scheduling point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartPoint {
    /// Where the program first waits for clients, other processes or times, and can do nothing else.
    Idle,
    /// Where a thread first reaches the site of the predicate with the purpose
    /// [`Start`](crate::predicate::Purpose::Start).
    Site,
}

/// An address that is valid in every process of the same program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModuleAddress {
    /// The number of the loaded module, or a constant such as [`ModuleAddress::FIXED`] for an address
    /// outside all modules.
    pub module: u16,
    /// The offset from the start of the module.
    pub offset: u64,
}

impl ModuleAddress {
    /// [`ModuleAddress::module`] of an address that is the same in every process.
    pub const FIXED: u16 = u16::MAX;
    /// [`ModuleAddress::module`] of an address on main's stack: the offset is the distance below
    /// main's frame.
    pub const MAIN_STACK: u16 = u16::MAX - 1;
    /// [`ModuleAddress::module`] of a word in a block of the heap: see [`ModuleAddress::in_block`].
    const BLOCK: u16 = u16::MAX - 3;
    /// How many bits of the offset are the word's in its block.
    const WORD_BITS: u32 = 20;
    /// Among learned words, no address: some task looks at data under a lock until another task
    /// changes it. All accesses are then monitored, so that such a loop is recognised.
    pub const LOCK_POLLS: ModuleAddress = ModuleAddress { module: u16::MAX - 2, offset: 0 };
    /// Among learned words, no address: an execution of the learning phase had more accesses than
    /// can be observed in a reasonable time. Each execution then observes only the first accesses of
    /// each site.
    pub const SAMPLED: ModuleAddress = ModuleAddress { module: u16::MAX - 2, offset: 1 };
    /// Among learned words, no address: the learning phase ended before it found nothing new, because
    /// executions are long. A few executions of the search observe all accesses, and the others only
    /// those of known sites.
    pub const BRIEF: ModuleAddress = ModuleAddress { module: u16::MAX - 2, offset: 2 };
    /// Among learned words, no address: an execution of the learning phase was long. Most executions of
    /// the search then end after their first steps, if the search asks for that.
    pub const LONG: ModuleAddress = ModuleAddress { module: u16::MAX - 2, offset: 3 };
    /// Among learned words, no address: tasks access other tasks' stacks. Instructions that address memory by the
    /// stack pointer are then observed, too.
    pub const STACKS: ModuleAddress = ModuleAddress { module: u16::MAX - 2, offset: 4 };
    /// Among learned words: a word of a block of the heap, given by a hash of the block, of which
    /// [`ModuleAddress::block_hash`] counts, and its number in the block. None if the block is too large.
    #[must_use]
    pub const fn in_block(block: u64, word: u64) -> Option<ModuleAddress> {
        if word >> ModuleAddress::WORD_BITS != 0 {
            return None;
        }
        let offset = ModuleAddress::block_hash(block) << ModuleAddress::WORD_BITS | word;
        Some(ModuleAddress { module: ModuleAddress::BLOCK, offset })
    }

    /// The part of a block's hash that a learned word has.
    #[must_use]
    pub const fn block_hash(block: u64) -> u64 {
        block & (u64::MAX >> ModuleAddress::WORD_BITS)
    }

    /// The block and the word of a [`ModuleAddress::in_block`].
    #[must_use]
    pub const fn as_in_block(self) -> Option<(u64, u64)> {
        if self.module != ModuleAddress::BLOCK {
            return None;
        }
        let word = self.offset & ((1 << ModuleAddress::WORD_BITS) - 1);
        Some((self.offset >> ModuleAddress::WORD_BITS, word))
    }

    /// Among learned words, no address: see [`ModuleAddress::split`].
    const SPLIT: u16 = u16::MAX - 16;

    /// Among learned words, no address: an access began or ended at this byte of a word, 1 to 7. The
    /// bytes before it and from it on are then different objects. The word is given by the identity
    /// of the object at its beginning, which does not depend on its address.
    #[must_use]
    pub const fn split(word: u64, byte: u8) -> ModuleAddress {
        ModuleAddress { module: ModuleAddress::SPLIT + (byte & 7) as u16, offset: word }
    }

    /// Among learned words, no address: see [`ModuleAddress::lock`].
    const LOCK: u16 = u16::MAX - 24;

    /// Among learned words, no address: the lock of a mutex of Rust's standard library begins at this byte of
    /// a word, 0 to 7. The word is given by its identity, as for [`ModuleAddress::split`].
    #[must_use]
    pub const fn lock(word: u64, byte: u8) -> ModuleAddress {
        ModuleAddress { module: ModuleAddress::LOCK + (byte & 7) as u16, offset: word }
    }

    /// The word and the byte of a [`ModuleAddress::lock`].
    #[must_use]
    pub fn as_lock(self) -> Option<(u64, u8)> {
        let byte = self.module.checked_sub(ModuleAddress::LOCK).filter(|&byte| byte < 8);
        byte.map(|byte| (self.offset, byte as u8))
    }

    /// The word and the byte of a [`ModuleAddress::split`].
    #[must_use]
    pub fn as_split(self) -> Option<(u64, u8)> {
        let byte =
            self.module.checked_sub(ModuleAddress::SPLIT).filter(|byte| (1..8).contains(byte));
        byte.map(|byte| (self.offset, byte as u8))
    }
}

/// The atoms with which an access to these bytes of a word has a byte in common, each by its first
/// byte. `splits`: where the word is split, as bits 1 to 7.
pub fn atoms(splits: u8, bytes: Range<u32>) -> impl Iterator<Item = u32> {
    let starts = u32::from(splits) | 1;
    let first = (starts & ((2 << bytes.start) - 1)).ilog2();
    (first..bytes.end).filter(move |byte| starts & 1 << byte != 0)
}

/// The learned points: an access is a scheduling point if an instruction of `sites` touches a word
/// of `words`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Learned {
    /// Instructions, each as the address of the next instruction.
    pub sites: Vec<ModuleAddress>,
    /// Words of eight bytes, and where they are split into several objects.
    pub words: Vec<ModuleAddress>,
}

impl Learned {
    /// Whether some task looks at data under a lock until another task changes it.
    #[must_use]
    pub fn has_lock_polls(&self) -> bool {
        self.words.contains(&ModuleAddress::LOCK_POLLS)
    }

    /// How many sites and words were learned.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sites.len() + self.words.len()
    }

    /// Whether no point was learned. That tasks access other tasks' stacks makes none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty() && self.words.iter().all(|&word| word == ModuleAddress::STACKS)
    }
}

/// The result of the learning phase. A later search skips its learning phase if
/// the program's first execution is the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LearningResult {
    /// A hash of the operations and sites of the first execution.
    pub first: u64,
    /// A hash of the program's own libraries: the learned points are places in them.
    pub libraries: u64,
    /// The learned points.
    pub learned: Learned,
    /// Whether a task accessed the stack of another.
    pub stacks: bool,
    /// The executions of the learning phase.
    pub executions: u64,
    /// Accesses that were not instrumented, as bits of [`InstrumentationGap`].
    pub unseen: u64,
    /// The number of executions in which frequently executed probes were removed before the execution
    /// ended, so that later accesses were not observed.
    pub probes_removed: u64,
    /// The number of probes at a time, and how many of them were jumps.
    pub probes: (u64, u64),
}

/// Why some memory accesses are not instrumented although that was requested. The value is a bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum InstrumentationGap {
    /// The program has no table of its functions.
    Unlisted = 1,
    /// Parts of the program's code could not be decoded with certainty.
    Undecoded = 2,
    /// The program's own shared libraries.
    Libraries = 4,
    /// The program generated code at run time.
    Generated = 8,
    /// The program changed its own code.
    Changed = 16,
    /// The program loaded its own libraries at run time.
    Loaded = 32,
    /// The program uses more memory than the shadow memory covers.
    Crowded = 64,
    /// Kinds of instructions that probes do not support.
    Forms = 128,
    /// Some of the program's modules have compiler instrumentation, and others do not.
    Mixed = 256,
    /// A spin loop writes to memory that only its task accesses.
    Counts = 512,
    /// Functions that are neither instrumented nor in the catalogue of effects.
    Calls = 1024,
    /// Combinations of tasks at the sites of a predicate: there were too many to try all.
    Assignments = 2048,
    /// Sites of predicates in code that has no probes.
    Sites = 4096,
    /// A learning phase that ended before it found nothing new.
    Brief = 8192,
    /// One execution of a program with much code, which observes no accesses.
    Large = 16384,
    /// Regions that the program marked as atomic: instrumented, but no preemption in them was
    /// tried.
    Marked = 1 << 32,
    /// Expiries of deadlines that were not due: instrumented, but not tried earlier.
    Deadlines = 1 << 33,
    /// Tasks whose clock rose because they executed many steps.
    Seconds = 1 << 34,
    /// Tasks that were interrupted because they kept others from moving.
    Interrupted = 1 << 35,
    /// Predicates in the program's source: instrumented, but threads wait there.
    Held = 1 << 36,
    /// Executions that failed, and passed when they were run again.
    Outside = 1 << 37,
    /// Reads of clocks that nothing orders: instrumented, but they return the times of one order.
    Times = 1 << 38,
    /// Freed blocks whose addresses are compared: instrumented, but they come back in a limited number only.
    Reuse = 1 << 39,
}

impl InstrumentationGap {
    const ALL: [InstrumentationGap; 23] = [
        InstrumentationGap::Unlisted,
        InstrumentationGap::Undecoded,
        InstrumentationGap::Libraries,
        InstrumentationGap::Generated,
        InstrumentationGap::Changed,
        InstrumentationGap::Loaded,
        InstrumentationGap::Crowded,
        InstrumentationGap::Forms,
        InstrumentationGap::Mixed,
        InstrumentationGap::Counts,
        InstrumentationGap::Calls,
        InstrumentationGap::Assignments,
        InstrumentationGap::Sites,
        InstrumentationGap::Brief,
        InstrumentationGap::Large,
        InstrumentationGap::Marked,
        InstrumentationGap::Held,
        InstrumentationGap::Deadlines,
        InstrumentationGap::Seconds,
        InstrumentationGap::Interrupted,
        InstrumentationGap::Outside,
        InstrumentationGap::Times,
        InstrumentationGap::Reuse,
    ];

    /// The reasons whose bits are set.
    pub fn among(bits: u64) -> impl Iterator<Item = InstrumentationGap> {
        InstrumentationGap::ALL.into_iter().filter(move |&one| bits & one as u64 != 0)
    }

    /// For the user: what is not instrumented, and how to change that.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            InstrumentationGap::Unlisted => {
                "the program has no table of its functions (.eh_frame), so its memory accesses are not \
                 observed: link it without removing that section, or build it with -fsanitize=thread"
            }
            InstrumentationGap::Undecoded => {
                "some of the program's code is in no table of functions (.eh_frame) or could not be \
                 decoded with certainty, so its memory accesses are not observed"
            }
            InstrumentationGap::Libraries => {
                "memory accesses in some of the program's own shared libraries are not observed: there are \
                 too many libraries, or there is no free address space near their code"
            }
            InstrumentationGap::Generated => {
                "the program generates code at run time, whose memory accesses are not observed"
            }
            InstrumentationGap::Changed => {
                "the program modifies its own code, so its memory accesses are not observed from then on"
            }
            InstrumentationGap::Loaded => {
                "the program loads libraries that belong to it at run time, whose memory accesses are not \
                 observed: link the program to them, or set LD_PRELOAD"
            }
            InstrumentationGap::Crowded => {
                "the program uses more memory than can be tracked (64 MB), so not all accesses to it \
                 are observed"
            }
            InstrumentationGap::Forms => {
                "the program has instructions whose memory accesses are not observed (gathers, bit \
                 strings)"
            }
            InstrumentationGap::Mixed => {
                "only some of the program's own modules were built with instrumented memory accesses, and \
                 accesses in the others are not observed: build all of it with `heddle build`, or none"
            }
            InstrumentationGap::Counts => {
                "a task in a spin loop writes to its private memory, for example to count the iterations: \
                 the outcome of more than a few iterations was not tried"
            }
            InstrumentationGap::Calls => {
                "the program calls functions whose effects on memory are neither observed nor known"
            }
            InstrumentationGap::Assignments => {
                "more threads were at the sites of a predicate than can be combined: not every combination \
                 was tried"
            }
            InstrumentationGap::Sites => {
                "a site of a predicate is in code that could not be decoded with certainty or in a library \
                 of the system, so threads are not held there: choose another line"
            }
            InstrumentationGap::Brief => {
                "executions are long, so only a few of them observed all memory accesses: conflicts that \
                 these did not show are not scheduling points; smaller input makes executions shorter"
            }
            InstrumentationGap::Large => {
                "the program has much code, so its one execution observed no memory accesses: learn them \
                 first (--learn)"
            }
            InstrumentationGap::Marked => {
                "the program marks regions as atomic (heddle_atomic_begin): schedules with a preemption in \
                 them were not tried"
            }
            InstrumentationGap::Held => {
                "the program has predicates in its source (heddle_cp): schedules in which a thread does not \
                 wait at one were not tried"
            }
            InstrumentationGap::Deadlines => {
                "deadlines that are not due within the slack were not tried (--slack)"
            }
            InstrumentationGap::Seconds => {
                "a thread executed so many steps without waiting that they count as seconds (10,000 steps, \
                 system calls or readings of a clock are one): deadlines may expire because of that"
            }
            InstrumentationGap::Interrupted => {
                "a thread ran for long without reaching a scheduling point: it was interrupted, and \
                 continued only when no other thread could"
            }
            InstrumentationGap::Outside => {
                "of two executions of one schedule, one failed and the other did not: something outside of \
                 the schedule decides, such as a file that another execution left"
            }
            InstrumentationGap::Reuse => {
                "assuming that no more freed blocks come back, at their old address, in one execution (--reuse)"
            }
            InstrumentationGap::Times => {
                "assuming that threads which read a clock with no order between them see times that do not \
                 show which of them was first"
            }
        }
    }
}

/// A range of a program's code, in addresses of its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CodeRange {
    /// The path of the module's file; empty for the program itself.
    pub module: String,
    /// The first address.
    pub start: u64,
    /// The end, exclusive.
    pub end: u64,
}

/// Tasks that run serially: none of them is preempted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SerialTasks {
    /// Those with these numbers, the last included.
    Numbers(u16, u16),
    /// Those with this name, and those that began in one of these functions.
    Named {
        /// The name.
        name: String,
        /// The code of the functions.
        functions: Vec<CodeRange>,
    },
}

/// Where a running task may be preempted: not before an operation in `atomic`; if there is a `focus`,
/// only before operations in it; and not if it is one of `serial`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PreemptionScope {
    /// No preemptions in these ranges.
    pub atomic: Vec<CodeRange>,
    /// Preemptions only in these ranges.
    pub focus: Option<Vec<CodeRange>>,
    /// The user's own code. An operation in other code, such as an atomic one of Rust's library, is also at
    /// the place from which the user's code called that.
    pub own: Vec<CodeRange>,
    /// These tasks are preempted nowhere.
    pub serial: Vec<SerialTasks>,
    /// Main runs only when no other task can, and its accesses make no scheduling points: it belongs to
    /// a test harness, as opposed to the test.
    pub main_last: bool,
}

impl PreemptionScope {
    /// Whether a task is not preempted somewhere.
    #[must_use]
    pub fn limits_preemptions(&self) -> bool {
        !self.atomic.is_empty() || self.focus.is_some() || !self.serial.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for one in [Granularity::Api, Granularity::Racy, Granularity::All] {
            assert_eq!(Granularity::from_name(one.name()), Some(one));
        }
        assert_eq!(Granularity::from_name("some"), None);
    }

    /// All ranges of the bytes of a word.
    fn ranges() -> impl Iterator<Item = Range<u32>> {
        (0..8).flat_map(|low| (low + 1..9).map(move |high| low..high))
    }

    #[test]
    fn accesses_share_an_atom_exactly_if_no_split_separates_them() {
        for splits in (0..=255u8).step_by(2) {
            for (one, other) in
                ranges().flat_map(|one| ranges().map(move |other| (one.clone(), other)))
            {
                let theirs: Vec<u32> = atoms(splits, other.clone()).collect();
                let share = atoms(splits, one.clone()).any(|atom| theirs.contains(&atom));
                let (first, second) =
                    if one.start <= other.start { (&one, &other) } else { (&other, &one) };
                let separates = |byte: u32| splits & 1 << byte != 0;
                let are_separate =
                    first.end <= second.start && (first.end..=second.start).any(separates);
                assert_eq!(share, !are_separate, "{splits:08b} {one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_split_and_a_lock_are_no_addresses() {
        for byte in 1..8 {
            let split = ModuleAddress::split(77, byte);
            assert_eq!((split.as_split(), split.as_lock()), (Some((77, byte)), None));
        }
        for byte in 0..8 {
            let lock = ModuleAddress::lock(77, byte);
            assert_eq!((lock.as_split(), lock.as_lock()), (None, Some((77, byte))));
        }
        let others = [
            ModuleAddress::LOCK_POLLS,
            ModuleAddress::SAMPLED,
            ModuleAddress::BRIEF,
            ModuleAddress::LONG,
            ModuleAddress::STACKS,
        ];
        let modules = [0, 1, 300, ModuleAddress::FIXED, ModuleAddress::MAIN_STACK];
        let addresses = modules.map(|module| ModuleAddress { module, offset: 8 });
        let others = others.iter().chain(&addresses);
        for other in others.chain(&ModuleAddress::in_block(77, 5)) {
            assert_eq!((other.as_split(), other.as_lock()), (None, None));
        }
    }

    #[test]
    fn a_word_of_a_block_has_its_block_and_its_number() {
        let word = ModuleAddress::in_block(u64::MAX - 6, 5).unwrap();
        assert_eq!(word.as_in_block(), Some((ModuleAddress::block_hash(u64::MAX - 6), 5)));
        assert_eq!(ModuleAddress::in_block(ModuleAddress::block_hash(u64::MAX - 6), 5), Some(word));
        assert_ne!(ModuleAddress::in_block(u64::MAX - 7, 5), Some(word));
        assert_eq!(ModuleAddress::in_block(1, 1 << 20), None);
        for other in [ModuleAddress::split(77, 1), ModuleAddress::lock(77, 0), ModuleAddress::LONG]
        {
            assert_eq!(other.as_in_block(), None);
        }
    }
}
