//! The manager's state. It is in the shared heap, so that every kind of reset preserves it.

use crate::state::exclusive::Exclusive;
use crate::state::time::Time;
use search::Prefixed;
use search::share::frontier::Work;
use search::spin::SpinDetector;
use search::spin::own_view::OwnViews;
use search::spin::repeated_reads::RepeatedReads;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use traces::memory_change::MemoryChange;
use traces::points::{Granularity, Learned, LearningResult, ModuleAddress};
use traces::wire::{self, FoundFailure, Probing, Reset, Tracking};

/// How many different sites were seen: one bit for each, by a hash.
pub(crate) struct Sites {
    bits: [Cell<u64>; 1024],
    len: Cell<u64>,
}

impl Sites {
    pub(crate) const fn new() -> Sites {
        Sites { bits: [const { Cell::new(0) }; 1024], len: Cell::new(0) }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.len.get()
    }

    #[inline]
    fn note(&self, site: u64) {
        let hash = site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let word = &self.bits[(hash >> 6) as usize];
        let bit = 1 << (hash & 63);
        // A known site causes no store: the next step would have to wait for it.
        if word.get() & bit == 0 {
            self.len.set(self.len.get() + 1);
            word.set(word.get() | bit);
        }
    }
}

/// The lists that grow, in the shared heap.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    /// The learned points that are in effect in the current execution.
    pub(crate) known: Learned,
    /// The points that executions found and that are not in effect yet ([`Work::settles_after`]), and
    /// the same as sets.
    pub(crate) unsettled: Learned,
    pub(crate) unsettled_sites: BTreeSet<ModuleAddress>,
    pub(crate) unsettled_words: BTreeSet<ModuleAddress>,
    /// The conflicts of the current execution: address behind the instruction, word.
    pub(crate) found: Vec<(u64, ModuleAddress)>,
    /// Sets of what is in `known` and in `found`, for lookups: tasks that work on one array
    /// conflict on each word of it.
    pub(crate) sites: BTreeSet<ModuleAddress>,
    pub(crate) words: BTreeSet<ModuleAddress>,
    pub(crate) pairs: BTreeSet<(u64, ModuleAddress)>,
    /// Whether a task in the current execution read data under a lock until another task changed
    /// it.
    pub(crate) lock_polls: bool,
    /// Whether the current execution had more accesses than can be observed in a reasonable time.
    pub(crate) sampled: bool,
    /// Whether tasks accessed other tasks' stacks, and that was not known.
    pub(crate) stacks: bool,
    /// Whether the current execution was so long that it was ended.
    pub(crate) long: bool,
    /// What signal handlers accessed, in the order in which it was first seen, and the same as a set.
    pub(crate) handled: Vec<Handled>,
    pub(crate) handled_set: BTreeSet<Handled>,
    /// The words that conditions of predicates read, in the order in which they were first read; the
    /// same as a set; and those of the current execution that are new.
    pub(crate) watched: Vec<ModuleAddress>,
    pub(crate) watched_set: BTreeSet<ModuleAddress>,
    pub(crate) watched_found: Vec<ModuleAddress>,
    /// The splits of words, and the words that are locks, which the current execution showed.
    pub(crate) parts_found: Vec<ModuleAddress>,
    /// What handlers accessed in the current execution.
    pub(crate) handled_found: Vec<Handled>,
    /// The words that several tasks accessed in the first round of the learning phase, one of them by a write.
    pub(crate) shared: BTreeSet<ModuleAddress>,
    /// The accesses of the current execution that are steps because they are to these words.
    pub(crate) stops: Vec<(u64, ModuleAddress)>,
}

/// A word that a signal handler accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Handled {
    pub(crate) word: ModuleAddress,
    pub(crate) signal: u8,
    pub(crate) writes: bool,
}

/// The state of the learning phase: random walks, until there is nothing new for a while.
pub(crate) struct Learning {
    pub(crate) rounds: u64,
    /// Whether the first round is being run, and observed only the first accesses of sites that it reached
    /// often.
    pub(crate) is_partial: bool,
    /// The executions before the first round, which observed no accesses ([`Opening`]).
    pub(crate) opened: u64,
    /// The steps of those executions.
    pub(crate) steps: u64,
    pub(crate) quiet: u64,
    /// How many executions of `directed` are left ([`search::strategy::registry::directed_first`]).
    pub(crate) directed: u64,
    /// The strategy of the current round.
    pub(crate) round: Round,
    /// Whether `alternate` ran with the points that are known now.
    pub(crate) alternated: bool,
    /// The first failure of `alternate` whose execution had more steps than others would have, and the
    /// number of its round.
    pub(crate) postponed: Option<(FoundFailure, u64)>,
    /// The number of accesses in all rounds.
    pub(crate) met: u64,
    /// A hash of what the first round did.
    pub(crate) first: u64,
    /// The search that follows.
    pub(crate) search: Prefixed,
}

/// The strategy of a round of the learning phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    Random,
    /// The one schedule of `alternate`.
    Alternate,
    Directed,
}

/// The first executions of a program with much code. To prepare the observation of its accesses takes
/// long, so these choose at calls into the threads library only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Not decided yet.
    Unknown,
    /// The program has little code, or is well known.
    None,
    /// They are being run.
    Running,
    /// They ended. From then on processes observe accesses.
    Over,
}

/// A piece of work in progress; its strategy is the root's.
pub(crate) struct Portion {
    pub(crate) work: Work,
    pub(crate) ran: u64,
    pub(crate) redundant: u64,
    pub(crate) classes: Vec<u64>,
    pub(crate) fingerprints: Vec<u64>,
    /// Its number among the pieces of this worker, from 1.
    pub(crate) serial: u64,
    /// Whether an execution failed, and that ends the search.
    pub(crate) failed: bool,
    /// Whether new conflicts between accesses took effect.
    pub(crate) grew: bool,
}

/// The program's base address, and its writable memory.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) base: u64,
    pub(crate) writable: Vec<(u64, u64)>,
}

/// The changes of a job.
pub(crate) struct Changes {
    pub(crate) all: Vec<MemoryChange>,
    /// The step of the first change, so that without changes each step costs one comparison.
    pub(crate) first: u64,
    pub(crate) program: Program,
}

/// The result of an execution that a child ran for comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    /// Whether the execution ended.
    pub(crate) done: bool,
    pub(crate) digest: u64,
    /// A number for its outcome.
    pub(crate) end: u64,
    /// The first change that it made in the kernel, or 0.
    pub(crate) traces: i64,
    /// A hash of its memory, or 0.
    pub(crate) memory: u64,
}

/// How often the runtime polled in the current wait, and how many waits were in vain.
#[derive(Debug, Default)]
pub(crate) struct ExternalPolls {
    pub(crate) count: u32,
    pub(crate) timeouts: u32,
}

/// The state that outlives executions.
pub(crate) struct Root {
    pub(crate) strategy: Exclusive<Prefixed>,
    /// Whether the strategy asks for the next operation of every task.
    pub(crate) detailed: Cell<bool>,
    /// Whether the strategy distinguishes sites by the frames around them.
    pub(crate) frames: Cell<bool>,
    /// The tasks that wait in spin loops, in the current execution.
    pub(crate) stalls: Exclusive<SpinDetector>,
    /// While it is unknown whether tasks look at data under locks until others change it: finds
    /// that, and has no effect on the execution.
    pub(crate) poll_finder: Exclusive<SpinDetector>,
    /// The objects of the current step, while any task may wait in a spin loop.
    pub(crate) step_objects: Exclusive<Vec<u64>>,
    /// Repeated reads by tasks that may wait in spin loops.
    pub(crate) alike: Exclusive<RepeatedReads>,
    /// The stacks of tasks that may wait in loops, without what others wrote there.
    pub(crate) own_views: Exclusive<OwnViews>,
    /// Whether a scope forbids preemption at some sites.
    pub(crate) scoped: Cell<bool>,
    pub(crate) scope: traces::points::PreemptionScope,
    pub(crate) max_steps: u64,
    /// The same for one that makes progress ([`crate::schedule::step_limit`]).
    pub(crate) most_steps: u64,
    /// The steps after which most executions of a program with long executions end; 0 for no such limit.
    pub(crate) beginning: u64,
    /// The most steps of all executions together.
    pub(crate) all_steps: u64,
    pub(crate) full: bool,
    /// Where each thread keeps the number of its asynchronous task, from its thread pointer.
    pub(crate) async_word: Option<i64>,
    /// The most bytes of the program's heap.
    pub(crate) memory: u64,
    /// How many waits of each task may end as spurious wakeups.
    pub(crate) spurious: u32,
    /// How many freed blocks may come back in one execution.
    pub(crate) reuse: u32,
    /// How many transfers of each task over network connections may be short.
    pub(crate) short_counts: u32,
    /// How late a step may be by its task's clock; none for any delay.
    pub(crate) slack: search::time::Slack,
    /// How long an execution waits for another process if no task can run, in milliseconds.
    pub(crate) outside_limit: u32,
    /// Where the search begins; none at main.
    pub(crate) start_at: Option<traces::points::StartPoint>,
    /// Whether a process that reached that point runs further executions from there.
    pub(crate) stays_at_start: Cell<bool>,
    /// The clients whose actions executions repeat.
    pub(crate) clients: Vec<traces::clients::Client>,
    /// The commands of clients that run in this execution.
    pub(crate) live: Vec<String>,
    /// Whether these run at the same time, in each execution of a search.
    pub(crate) together: bool,
    /// The clocks of the current execution.
    pub(crate) time: Exclusive<Time>,
    /// The heap block whose allocation and release are recorded with stacks.
    pub(crate) watch: Option<u64>,
    /// Changes to memory to be made at given steps.
    pub(crate) changes: Changes,
    pub(crate) fail_on: Vec<u8>,
    pub(crate) predicates: Vec<traces::predicate::Predicate>,
    /// The number of scheduling points in executions that ended.
    pub(crate) beats: Cell<u64>,
    /// Objects described in the current execution.
    pub(crate) objects: Exclusive<BTreeMap<(u64, u64, u32), u64>>,
    /// Call sites that were reached.
    pub(crate) sites: Sites,
    pub(crate) reset: Cell<Reset>,
    /// Whether an execution changed shared state behind a descriptor, such as a file position.
    /// Other executions see such a change, unless the program is started again for each.
    pub(crate) moved: Cell<bool>,
    /// Whether memory reset may let executions begin at the end of their common prefix.
    pub(crate) shares_prefix: Cell<bool>,
    /// Whether executions may be resumed at checkpoints.
    pub(crate) has_checkpoints: Cell<bool>,
    pub(crate) tracking: Tracking,
    pub(crate) probing: Probing,
    pub(crate) stop_at_first: bool,
    pub(crate) park: bool,
    pub(crate) shared: bool,
    /// The number of executions that are still to be compared with one in a fork.
    pub(crate) checks: Cell<u32>,
    /// The piece of work in progress, if the search is shared.
    pub(crate) portion: Exclusive<Option<Portion>>,
    /// How many pieces were done before it.
    pub(crate) portions: Cell<u64>,
    /// At the beginning of a piece, the number of steps at which its first execution may be resumed at
    /// most.
    pub(crate) common: Cell<usize>,
    /// How long to wait for input from other processes.
    pub(crate) external_polls: Exclusive<ExternalPolls>,
    /// Whether the strategy has begun the next execution.
    pub(crate) begun: Cell<bool>,
    pub(crate) next: Cell<u64>,
    pub(crate) last: u64,
    /// The result of a child that runs an execution for comparison.
    pub(crate) compared: Cell<Compared>,
    /// Hashes of the paths that executions read, among files that they share.
    pub(crate) paths_read: Exclusive<BTreeSet<u64>>,
    /// Addresses in the pages of code that the program executed for the first time, since the last execution began.
    pub(crate) entered: Exclusive<Vec<u64>>,
    /// A start routine of threads, and whether Rust's standard library may have started them.
    pub(crate) rust_start: Cell<(u64, bool)>,
    /// How the execution ended in a fork that is run again because memory reset is not used.
    pub(crate) repeats: Cell<Option<u64>>,
    /// The sizes and guards of the stacks of its tasks.
    pub(crate) stacks: Exclusive<Vec<(u64, u64)>>,
    /// What is known about the program's accesses to memory.
    pub(crate) learned: Exclusive<Growing>,
    /// Whether that may grow.
    pub(crate) learns: bool,
    /// The result of an earlier learning phase, to be adopted if the first round confirms it.
    pub(crate) earlier_learning: Exclusive<Option<LearningResult>>,
    /// Whether executions observe all accesses, outside of a learning phase.
    pub(crate) observes: Cell<bool>,
    /// Whether a task touched another task's stack.
    pub(crate) stacks_touched: Cell<bool>,
    /// Like `stacks_touched`, but before the current round of learning.
    pub(crate) stacks_seen: Cell<bool>,
    /// Pairs of sites that were reported as races.
    pub(crate) raced: Exclusive<BTreeSet<(u64, u64)>>,
    /// Whether to look for behaviours that delayed stores allow; the reported pairs of a store and
    /// a load.
    pub(crate) store_buffers: bool,
    pub(crate) delayed: Exclusive<BTreeSet<(u64, u64)>>,
    /// Findings that are no failures, of the current execution and not reported before.
    pub(crate) beside: Exclusive<Vec<FoundFailure>>,
    /// Pairs of sites that were reported as conflicts, and conflicts still to be reported.
    /// The value says whether the callers of both sites were known.
    pub(crate) conflicted: Exclusive<BTreeMap<(u64, u64), bool>>,
    pub(crate) conflicts: Exclusive<Vec<FoundFailure>>,
    /// For a site that conflicted, the calls that led there when its access was the later one.
    pub(crate) callers: Exclusive<BTreeMap<u64, Vec<u64>>>,
    /// The one race that counts as a failure, if only one does.
    pub(crate) race: Option<(ModuleAddress, ModuleAddress)>,
    /// Whether the program has much code, and its first executions do not observe accesses.
    pub(crate) opening: Cell<Opening>,
    /// Whether the process must be started again, to prepare the observation of accesses.
    pub(crate) must_prepare: Cell<bool>,
    /// Whether an execution before the search failed, and that ends the search.
    pub(crate) failed_early: Cell<bool>,
    /// The learning phase, until it is over.
    pub(crate) learning: Exclusive<Option<Learning>>,
    pub(crate) points: Granularity,
    /// Whether this worker runs the learning phase for all workers.
    pub(crate) pioneer: bool,
    /// The search's plan, to restart it when points are added.
    pub(crate) plan: wire::Plan,
    pub(crate) prefix: Vec<traces::Choice>,
    /// Sites of compiler-instrumented accesses that were reached.
    pub(crate) compiled: Sites,
}

impl Root {
    /// Whether the task is the main task of a test harness, which runs only when no other task can.
    pub(crate) fn is_harness(&self, task: u16) -> bool {
        task == traces::TaskId::MAIN.0 && self.scope.main_last
    }

    /// Notes that a site was called.
    #[inline]
    pub(crate) fn note_site(&self, site: u64) {
        self.sites.note(site);
    }

    /// Whether there is only one execution, of a given schedule that is so short that breakpoints
    /// cost less than the analysis of where jump probes fit.
    pub(crate) fn repeats(&self) -> bool {
        const SHORT: usize = 5000;
        let given =
            matches!(&self.plan, wire::Plan::Replay { choices, .. } if choices.len() < SHORT);
        // Loops that look under a lock are recognised only if every write is seen.
        let is_known = !self.learned.borrow().known.has_lock_polls();
        given && is_known && self.last == 1 && self.points == Granularity::Racy
    }

    /// Ends the borrows of abandoned stacks and of processes that died.
    ///
    /// # Safety
    ///
    /// No borrow of a field is used or dropped after this call.
    pub(crate) unsafe fn end_borrows(&self) {
        // SAFETY: the caller's promise.
        unsafe {
            self.strategy.end_borrows();
            self.stalls.end_borrows();
            self.poll_finder.end_borrows();
            self.step_objects.end_borrows();
            self.alike.end_borrows();
            self.own_views.end_borrows();
            self.time.end_borrows();
            self.objects.end_borrows();
            self.portion.end_borrows();
            self.external_polls.end_borrows();
            self.stacks.end_borrows();
            self.learned.end_borrows();
            self.earlier_learning.end_borrows();
            self.raced.end_borrows();
            self.paths_read.end_borrows();
            self.entered.end_borrows();
            self.delayed.end_borrows();
            self.beside.end_borrows();
            self.conflicted.end_borrows();
            self.conflicts.end_borrows();
            self.callers.end_borrows();
            self.learning.end_borrows();
        }
    }

    /// Notes the site of a compiler-instrumented access.
    #[inline]
    pub(crate) fn note_compiled(&self, site: u64) {
        self.compiled.note(site);
    }
}

struct Pointer(Cell<*mut Root>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread. The
// pointer is set before the first execution and only read afterwards.
unsafe impl Sync for Pointer {}
static ROOT: Pointer = Pointer(Cell::new(std::ptr::null_mut()));

/// The manager's state.
#[inline]
pub(crate) fn root() -> &'static Root {
    // SAFETY: `find_root` stored a pointer to a `Root` that is never freed, before the first
    // execution. All references to it are shared ones: what changes is in a `Cell` or an
    // `Exclusive`. One kernel thread of one process at a time uses it.
    unsafe { &*ROOT.0.get() }
}

/// Sets where the manager's state is, before the first execution.
///
/// # Safety
///
/// `root` is never freed, and no process uses it any more if it existed before.
pub(crate) unsafe fn set_root(root: *mut Root) {
    ROOT.0.set(root);
    // SAFETY: the caller's promise; a process that used it before may have died during a borrow.
    unsafe { self::root().end_borrows() };
}
