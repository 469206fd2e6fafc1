//! The job of this worker, and the manager's state made from it.

use crate::state::exclusive::Exclusive;
use crate::state::root::{
    Changes, Compared, ExternalPolls, Growing, Opening, Root, Sites, set_root,
};
use crate::state::time::Time;
use crate::state::world::MAX_TASKS;
use crate::sys::channel::{self, header};
use search::spin::SpinDetector;
use search::spin::own_view::OwnViews;
use search::spin::repeated_reads::RepeatedReads;
use search::{AnyStrategy, Prefixed, Reduction};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use traces::compact;
use traces::wire::Job;

/// Finds the manager's state; the first process of a worker creates it from the job.
pub(crate) fn find_root() -> Result<(), String> {
    let header = header();
    let at = header.heap_root.load(Relaxed);
    if at != 0 {
        // SAFETY: an earlier process stored it there and has ended; nothing frees it.
        unsafe { set_root((channel::address(header.heap) as u64 + at) as *mut Root) };
        return Ok(());
    }
    // SAFETY: the header's range for the job is within the mapped channel, and the controller wrote
    // it before it started this process and does not change it.
    let bytes = unsafe {
        std::slice::from_raw_parts(
            channel::address(header.job) as *const u8,
            header.job.len as usize,
        )
    };
    let job: Job =
        compact::decode(bytes).map_err(|error| format!("cannot decode the job: {error}"))?;
    let mut strategy = Prefixed::new(job.prefix.clone(), AnyStrategy::new(job.plan.clone()));
    if job.visits {
        strategy.count_visits();
    }
    let root = Box::into_raw(Box::new(Root {
        detailed: Cell::new(strategy.needs_pending()),
        frames: Cell::new(strategy.needs_caller_sites()),
        strategy: Exclusive::new(strategy),
        stalls: Exclusive::new(SpinDetector::default()),
        poll_finder: Exclusive::new(SpinDetector::default()),
        step_objects: Exclusive::new(Vec::new()),
        alike: Exclusive::new(RepeatedReads::default()),
        own_views: Exclusive::new(OwnViews::default()),
        scoped: Cell::new(false),
        scope: job.scope,
        max_steps: job.max_steps,
        most_steps: job.most_steps,
        beginning: job.beginning,
        all_steps: job.all_steps,
        full: job.full,
        async_word: job.async_word,
        memory: job.memory,
        spurious: job.spurious,
        reuse: job.reuse,
        short_counts: job.short_counts,
        slack: job.slack,
        outside_limit: job.outside_limit,
        start_at: job.start_at,
        stays_at_start: Cell::new(true),
        clients: job.clients,
        live: job.live,
        together: job.together,
        time: Exclusive::new(Time::with_room(MAX_TASKS)),
        watch: job.watch,
        changes: Changes::new(job.changes),
        fail_on: job.fail_on,
        predicates: job.predicates,
        beats: Cell::new(0),
        objects: Exclusive::new(BTreeMap::new()),
        sites: Sites::new(),
        reset: Cell::new(job.reset),
        moved: Cell::new(false),
        shares_prefix: Cell::new(true),
        has_checkpoints: Cell::new(true),
        tracking: job.tracking,
        probing: job.probing,
        stop_at_first: job.stop_at_first,
        park: job.park,
        shared: job.shared,
        checks: Cell::new(job.checks),
        portion: Exclusive::new(None),
        portions: Cell::new(0),
        common: Cell::new(0),
        external_polls: Exclusive::new(ExternalPolls::default()),
        begun: Cell::new(false),
        next: Cell::new(job.first),
        last: job.last,
        compared: Cell::new(Compared::default()),
        repeats: Cell::new(None),
        paths_read: Exclusive::new(BTreeSet::new()),
        entered: Exclusive::new(Vec::new()),
        rust_start: Cell::new((0, true)),
        stacks: Exclusive::new(Vec::new()),
        learned: Exclusive::new(Growing::new(job.learned)),
        learns: job.learn,
        earlier_learning: Exclusive::new(job.earlier_learning),
        observes: Cell::new(job.observes),
        stacks_touched: Cell::new(false),
        stacks_seen: Cell::new(false),
        raced: Exclusive::new(BTreeSet::new()),
        store_buffers: job.store_buffers,
        delayed: Exclusive::new(BTreeSet::new()),
        beside: Exclusive::new(Vec::new()),
        conflicted: Exclusive::new(BTreeMap::new()),
        conflicts: Exclusive::new(Vec::new()),
        callers: Exclusive::new(BTreeMap::new()),
        race: job.race,
        opening: Cell::new(Opening::Unknown),
        must_prepare: Cell::new(false),
        failed_early: Cell::new(false),
        learning: Exclusive::new(None),
        points: job.points,
        pioneer: job.pioneer,
        plan: job.plan,
        prefix: job.prefix,
        compiled: Sites::new(),
    }));
    // SAFETY: just allocated, and never freed.
    unsafe { set_root(root) };
    header.heap_root.store(root as u64 - channel::address(header.heap) as u64, Relaxed);
    Ok(())
}
