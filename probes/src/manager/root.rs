//! What the manager keeps: it lies in the shared heap, and is the same before and after any kind of reset.

use super::{learning, memory_loop, portion};
use crate::changes::Changes;
use crate::channel::{self, header};
use crate::models::readiness;
use crate::points;
use search::alike::Alike;
use search::stall::Stalls;
use search::{Any, Prefixed, Strategy};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use traces::points::{Granularity, Lesson, Spot};
use traces::wire::{self, Found, Job, Probing, Reset, Tracking};

/// How many sites there were: a bit for each, by a hash.
pub(super) struct Sites {
    bits: [u64; 1024],
    pub(super) len: u64,
}

impl Sites {
    const fn new() -> Sites {
        Sites { bits: [0; 1024], len: 0 }
    }

    #[inline]
    fn note(&mut self, site: u64) {
        let hash = site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let word = &mut self.bits[(hash >> 6) as usize];
        let bit = 1 << (hash & 63);
        // Without a store for a site that is known: the next step would wait for it.
        if *word & bit == 0 {
            self.len += 1;
            *word |= bit;
        }
    }
}

/// What outlives executions.
pub(crate) struct Root {
    pub(crate) strategy: Prefixed,
    /// Whether the strategy looks at what every task would do.
    pub(crate) detailed: bool,
    /// Whether it tells places apart by the frames around them.
    pub(crate) frames: bool,
    /// Who goes round in a loop, in the execution that runs.
    pub(crate) stalls: Stalls,
    /// What tasks that may stall read again and again.
    pub(crate) alike: Alike,
    /// Whether tasks may not be preempted everywhere.
    pub(crate) scoped: bool,
    pub(super) scope: traces::points::Scope,
    pub(crate) max_steps: u64,
    /// The most steps of all executions together.
    pub(super) all_steps: u64,
    pub(crate) full: bool,
    /// The most bytes of the program's heap.
    pub(crate) memory: u64,
    /// How many waits of each task may come back with nobody waking it.
    pub(crate) spurious: u32,
    /// The block whose past is kept.
    pub(super) watch: Option<u64>,
    /// What memory is changed on the way.
    pub(crate) changes: Changes,
    pub(crate) fail_on: Vec<u8>,
    /// Points in executions that ended.
    pub(crate) beats: u64,
    /// Objects described in the execution that runs.
    pub(crate) objects: BTreeMap<(u64, u64, u32), u64>,
    /// Sites that were called.
    pub(super) sites: Sites,
    pub(super) reset: Reset,
    /// Whether an execution changed what a descriptor leads to that is not its own: others see that,
    /// unless the program is started again for each.
    pub(crate) moved: bool,
    pub(super) tracking: Tracking,
    pub(crate) probing: Probing,
    pub(super) stop_at_first: bool,
    pub(super) park: bool,
    pub(super) shared: bool,
    /// How many executions are still to be compared with a fork's.
    pub(super) checks: u32,
    /// The piece of work that is being done, where the search is shared.
    pub(super) portion: Option<portion::Portion>,
    /// How many there were before it.
    pub(super) portions: u64,
    /// How long it is waited for what other processes may give.
    pub(crate) patience: readiness::Patience,
    /// Whether the next execution was begun in the strategy.
    pub(super) begun: bool,
    pub(super) next: u64,
    pub(super) last: u64,
    /// What a child that runs an execution for comparison has to say.
    pub(super) compared: memory_loop::Compared,
    /// The sizes and guards of the stacks that its tasks had.
    pub(super) stacks: Vec<(u64, u64)>,
    /// What the program's accesses to memory are known to be.
    pub(crate) learned: points::learned::Growing,
    /// Whether that may grow.
    pub(crate) learns: bool,
    /// What learning came to at another time, to be taken over if it is found to hold.
    pub(super) lesson: Option<Lesson>,
    /// Whether a task was seen to touch another's stack.
    pub(crate) stacks_touched: bool,
    /// The same before the round of learning that runs.
    pub(super) stacks_seen: bool,
    /// Pairs of sites that were told of as races.
    pub(crate) raced: BTreeSet<(u64, u64)>,
    /// Whether it is looked for what delayed stores could lead to; the pairs of a store and a load that
    /// were told of.
    pub(crate) store_buffers: bool,
    pub(crate) delayed: BTreeSet<(u64, u64)>,
    /// What is told of beside the failures, of the execution that runs, and was not told of before.
    pub(crate) beside: Vec<Found>,
    /// Pairs of sites that were told of as conflicts, and those that are to be told of.
    pub(crate) conflicted: BTreeSet<(u64, u64)>,
    pub(crate) conflicts: Vec<Found>,
    /// The one race that is a failure, where not all of them are.
    pub(crate) race: Option<(Spot, Spot)>,
    /// Learning, until it is over.
    pub(super) learning: Option<learning::Learning>,
    pub(super) points: Granularity,
    /// Whether no other worker has learned what there is to be learned first.
    pub(super) pioneer: bool,
    /// The search's plan, to begin again when points are added.
    pub(super) plan: wire::Plan,
    pub(super) prefix: Vec<traces::Choice>,
    /// Sites of accesses that the compiler put in and that were seen.
    pub(super) compiled: Sites,
}

impl Root {
    /// Remembers that a site was called.
    #[inline]
    pub(crate) fn note_site(&mut self, site: u64) {
        self.sites.note(site);
    }

    /// Whether there is but one execution, of a schedule that is given and short enough that breakpoints
    /// take no longer than to find where jumps can be.
    pub(crate) fn repeats(&self) -> bool {
        const SHORT: usize = 5000;
        let given =
            matches!(&self.plan, wire::Plan::Replay { choices, .. } if choices.len() < SHORT);
        given && self.last == 1 && self.points == Granularity::Racy
    }

    /// Remembers the site of an access that the compiler put in.
    #[inline]
    pub(crate) fn note_compiled(&mut self, site: u64) {
        self.compiled.note(site);
    }
}

struct Pointer(Cell<*mut Root>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Pointer {}
static ROOT: Pointer = Pointer(Cell::new(std::ptr::null_mut()));

/// The root.
#[inline]
pub(crate) fn root() -> &'static mut Root {
    // SAFETY: set before the first execution; there is one kernel thread, and no caller keeps the
    // reference across a call that takes it again for the same field.
    unsafe { &mut *ROOT.0.get() }
}

/// Where the root is; made from the job by the first process of a worker.
pub(super) fn find_root() -> Result<(), String> {
    let header = header();
    let at = header.heap_root.load(Relaxed);
    if at != 0 {
        ROOT.0.set((channel::address(header.heap) as u64 + at) as *mut Root);
        return Ok(());
    }
    // SAFETY: the controller wrote the job before it started the process.
    let bytes = unsafe {
        std::slice::from_raw_parts(
            channel::address(header.job) as *const u8,
            header.job.len as usize,
        )
    };
    let job: Job = rmp_serde::from_slice(bytes).map_err(|error| format!("a bad job: {error}"))?;
    let mut strategy = Prefixed::new(job.prefix.clone(), Any::new(job.plan.clone()));
    if job.visits {
        strategy.count_ways();
    }
    let root = Box::into_raw(Box::new(Root {
        detailed: strategy.detailed(),
        frames: strategy.wants_frames(),
        strategy,
        stalls: Stalls::default(),
        alike: Alike::default(),
        scoped: false,
        scope: job.scope,
        max_steps: job.max_steps,
        all_steps: job.all_steps,
        full: job.full,
        memory: job.memory,
        spurious: job.spurious,
        watch: job.watch,
        changes: Changes::new(job.changes),
        fail_on: job.fail_on,
        beats: 0,
        objects: BTreeMap::new(),
        sites: Sites::new(),
        reset: job.reset,
        moved: false,
        tracking: job.tracking,
        probing: job.probing,
        stop_at_first: job.stop_at_first,
        park: job.park,
        shared: job.shared,
        checks: job.checks,
        portion: None,
        portions: 0,
        patience: readiness::Patience::default(),
        begun: false,
        next: job.first,
        last: job.last,
        compared: memory_loop::Compared::default(),
        stacks: Vec::new(),
        learned: points::learned::Growing::new(job.learned),
        learns: job.learn,
        lesson: job.lesson,
        stacks_touched: false,
        stacks_seen: false,
        raced: BTreeSet::new(),
        store_buffers: job.store_buffers,
        delayed: BTreeSet::new(),
        beside: Vec::new(),
        conflicted: BTreeSet::new(),
        conflicts: Vec::new(),
        race: job.race,
        learning: None,
        points: job.points,
        pioneer: job.pioneer,
        plan: job.plan,
        prefix: job.prefix,
        compiled: Sites::new(),
    }));
    ROOT.0.set(root);
    header.heap_root.store(root as u64 - channel::address(header.heap) as u64, Relaxed);
    Ok(())
}
