//! The loop with memory reset: executions one after another in one process, as long as that is
//! sound.
//!
//! The first executions are also run in a fork, and compared record by record. An execution that
//! changes state in the kernel ends memory reset for the rest of the search; the program is then
//! restarted and continues with forks.
//!
//! After some executions the others begin where the part ends that all have in common
//! ([`common_prefix`]).

use crate::detect::access::{are_compiled, note_gap};
use crate::detect::learned_points;
use crate::executions::checkpoints;
use crate::executions::common_prefix::{self, CommonPrefix};
use crate::executions::manager::{add, execute, fork_loop, settle};
use crate::executions::own_memory::own_ranges;
use crate::executions::processes::{
    cannot_fork, exit_if_failed, note_process, ready, restore_files, set_up_process, unresponsive,
};
use crate::kernel::left_files;
use crate::kernel::pass;
use crate::kernel::system_v;
use crate::kernel::{exit, signal_descriptor, task_files, timer};
use crate::memory::{kernel_changes, snapshot};
use crate::primitives::{mutex_ceiling, named_semaphore, spare_threads, thread_keys};
use crate::schedule::scheduler;
use crate::state::end::End;
use crate::state::locks::holders;
use crate::state::pending_signals;
use crate::state::root::{Compared, root};
use crate::state::stacks;
use crate::state::world::{Saved, world};
use crate::steps::record;
use crate::sys::channel::{self, header};
use crate::sys::parent;
use crate::sys::raw;
use crate::sys::signals;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::InstrumentationGap;
use traces::wire::{Reset, Tracking};
use traces::wire::{fell_back, state};

/// State of the runtime that is not part of the snapshot.
struct Begin {
    world: Saved,
    blocks: usize,
    keys: thread_keys::Saved,
    handlers: (u64, u64),
    named: u64,
    wanted: Vec<signals::Action>,
}

impl Begin {
    fn save() -> Begin {
        Begin {
            world: world().save(),
            blocks: spare_threads::len(),
            keys: thread_keys::save(),
            handlers: exit::save(),
            named: named_semaphore::save(),
            wanted: signals::save(),
        }
    }

    fn restore(&self) {
        world().restore(&self.world);
        holders::clear();
        timer::clear();
        signal_descriptor::clear();
        task_files::clear();
        mutex_ceiling::clear();
        pending_signals::clear();
        spare_threads::restore_len(self.blocks);
        thread_keys::restore(&self.keys);
        exit::restore(self.handlers);
        named_semaphore::restore(self.named);
        signals::restore(&self.wanted);
        kernel_changes::restore();
        snapshot::restore();
    }
}

pub(crate) fn run() -> ! {
    if !ready() {
        over();
    }
    // The first comparison comes before anything is changed: a program that changes state in the
    // kernel is never run in place at all.
    let first = in_a_fork(None, None);
    // Stacks of the sizes that the program uses are mapped once, not in each execution.
    stacks::prepare(&root().stacks.take());
    root().repeats.set(first.done.then_some(first.end));
    if root().moved.get() {
        start_anew();
    }
    if first.traces != 0 {
        fall_back(&beyond_memory(first.traces));
        fork_loop();
    }
    if !first.done {
        fall_back("the first execution ended its process");
        fork_loop();
    }
    set_up_process();
    if let Err(message) = snapshot::take(&own_ranges(), root().tracking) {
        fall_back(&message);
        fork_loop();
    }
    root().repeats.set(None);
    let mut begin = Begin::save();
    let mut prefix: Option<CommonPrefix> = None;
    // Whether the state is still that at the end of an execution.
    let mut has_run = false;
    let mut attempt = Attempt::begin();
    pass::take_traces();
    // With several workers, shared state of the search may change between the two executions.
    let mut expected = (root().checks.get() > 0).then_some(first);
    loop {
        if !ready() {
            over();
        }
        let tries = prefix.is_none() && attempt.is_due();
        let checks = root().checks.get() > 0;
        let mut resumes = checkpoints::find(!tries && !checks && may_resume());
        let mut compares =
            resumes && checkpoints::is_compared(root().tracking == Tracking::Checked);
        let before = (tries || checks || compares).then(|| root().strategy.cloned());
        if compares {
            expected = Some(in_a_fork(prefix.as_ref(), Some(&begin)));
            if !checkpoints::hold() {
                resumes = checkpoints::find(false);
                (compares, expected) = (false, None);
            }
        }
        match std::mem::take(&mut has_run) {
            true if resumes => checkpoints::restore(),
            true => begin.restore(),
            false => {}
        }
        if expected.is_none() && root().checks.get() > 0 && !tries {
            expected = Some(in_a_fork(prefix.as_ref(), None));
        }
        let number = root().next.get();
        let points = root().learned.borrow().known().len();
        let mut end = None;
        if let (true, Some(before)) = (tries, &before) {
            // The same execution is run from main, and then from the end of the prefix.
            root().strategy.borrow().suspend_cache_updates();
            let (ended, _) = execute();
            left_files::end(&ended);
            expected = Some(compared(&ended, true));
            // To the watchdog, the same number of steps again would be no progress.
            root().beats.set(root().beats.get() + world().step.get() + 1);
            snapshot::collect();
            begin.restore();
            root().learned.borrow().drop_found();
            root().strategy.set(before.clone());
            // Otherwise the states of the prefix would be visited ones when it is run once more, and
            // what follows them would be given up.
            root().strategy.borrow().suspend_cache_updates();
            let (ended, reached) = common_prefix::execute_and_stop();
            match reached {
                None => {
                    root().strategy.borrow().continue_cache_updates();
                    end = Some(ended);
                }
                Some(reached) => {
                    root().strategy.set(before.clone());
                    let changes_files = !left_files::is_clear();
                    left_files::end(&End::GivenUp);
                    if changes_files || snapshot::take_anew(&own_ranges(), root().tracking).is_err()
                    {
                        root().shares_prefix.set(false);
                        start_again();
                    }
                    kernel_changes::keep_actions();
                    begin = Begin::save();
                    prefix = Some(reached);
                }
            }
        }
        let end = end.unwrap_or_else(|| {
            if prefix.is_some() {
                add(&header().resumed, 1);
            }
            checkpoints::execute(resumes, prefix.as_ref()).0
        });
        snapshot::collect();
        left_files::end(&end);
        has_run = true;
        let memory = if compares { snapshot::images::digest() } else { 0 };
        let now = Compared { memory, ..compared(&end, expected.is_some()) };
        if let Some(expected) = expected.take() {
            let left = root().checks.get();
            let counts = left > 0 || root().tracking == Tracking::Checked;
            header().checks.fetch_add(u64::from(counts), Relaxed);
            if !root().is_opening() {
                root().checks.set(left.saturating_sub(1));
            }
            // Another worker may have covered the rest of the schedule in the meantime.
            let is_shared = compares && (kind(&end) == GIVEN_UP || expected.end == GIVEN_UP);
            if expected != now && !is_shared {
                // The result cannot be trusted: it does not count, and the execution is repeated.
                if let Some(before) = before {
                    root().strategy.set(before);
                }
                if tries {
                    // Another worker may have covered the schedule in the meantime.
                    root().shares_prefix.set(matches!(end, End::GivenUp));
                    start_again();
                }
                if compares {
                    if root().tracking == Tracking::Checked {
                        channel::fail(&format!(
                            "an execution that was resumed differed from the same one from main: \
                             {now:x?} instead of {expected:x?}"
                        ));
                    }
                    root().has_checkpoints.set(false);
                    start_again();
                }
                root().repeats.set(expected.done.then_some(expected.end));
                fall_back("an execution differed from the same one in a fork");
                start_again();
            }
        }
        if settle(number, end) {
            over();
        }
        checkpoints::settled();
        if root().moved.get() {
            start_anew();
        }
        if now.traces != 0 {
            fall_back(&beyond_memory(now.traces));
            start_again();
        }
        prepare_if_due();
        // With other points, the prefix may have other steps: main's accesses are some if the compiler
        // instrumented them, even while no other task exists.
        if prefix.is_some() && are_compiled() && root().learned.borrow().known().len() != points {
            start_again();
        }
        if snapshot::is_too_much() {
            fall_back("the program changes so much memory that forks are faster");
            start_again();
        }
    }
}

/// Whether executions may be resumed at checkpoints: what happens before counts once, and whatever
/// observes it more closely than a search does needs it in each execution.
fn may_resume() -> bool {
    let root = root();
    // Executions that sample have other probes than those between them, and a checkpoint has tasks inside
    // of probes.
    let samples = root.has_opening() || learned_points::is_brief();
    let must_run = samples
        || root.is_learning()
        || root.is_checking()
        || root.full
        || root.park
        || root.watch.is_some()
        || !root.changes.all.is_empty()
        || !root.predicates.is_empty()
        || crate::sys::stops::is_there();
    !must_run && root.has_checkpoints.get() && root.tracking != Tracking::Whole
}

/// When to look for the end of the common prefix: after some executions, or as soon as these took some
/// time, and again after twice as many.
struct Attempt {
    began: u64,
    executions: u32,
}

impl Attempt {
    /// The number of executions after which the common prefix is looked for.
    const EXECUTIONS: u32 = 64;
    /// The same in nanoseconds, at the earliest after the first execution.
    const TIME: u64 = 20_000_000;

    fn begin() -> Attempt {
        Attempt { began: real_time(), executions: 0 }
    }

    /// Whether the next execution is to show where the common prefix ends.
    fn is_due(&mut self) -> bool {
        let root = root();
        // In these cases what happens in the prefix counts, or there are few executions. The learning
        // phase observes which words compiler-instrumented code accesses atomically there.
        let never = are_compiled() && root.is_learning()
            || root.is_opening()
            || root.full
            || root.park
            || root.watch.is_some()
            || !root.changes.all.is_empty()
            || !root.shares_prefix.get()
            || crate::sys::stops::is_there();
        if never {
            return false;
        }
        self.executions = self.executions.saturating_add(1);
        let took = || real_time().saturating_sub(self.began);
        self.executions.is_power_of_two()
            && (self.executions >= Self::EXECUTIONS || took() > Self::TIME)
    }
}

/// Nanoseconds that passed outside of the program's virtual time.
fn real_time() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the time to a local.
    unsafe {
        raw::call!(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut now);
    }
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// What is compared of an execution that ended.
fn compared(end: &End, with_records: bool) -> Compared {
    Compared {
        done: true,
        digest: record::digest_if(with_records),
        end: kind(end),
        traces: pass::take_traces(),
        memory: 0,
    }
}

/// From here on the program is restarted for each execution: it changed the position of a file that
/// it opened before main or before `heddle_begin`, which forks share.
pub(crate) fn start_anew() -> ! {
    root().moved.set(false);
    restart_each_time(
        "the program changes the position of a file that it opened before its executions began, which \
         forks share",
    )
}

/// Restarts the program for each execution if it has memory that no reset in the process restores.
pub(crate) fn check_shared_mappings() {
    if let Some(file) = snapshot::shared_mapping() {
        restart_each_time(&format!(
            "the program mapped shared memory before its executions began, which forks share ({file})"
        ));
    }
}

/// Starts the program again if the next execution is the first that observes accesses.
pub(crate) fn prepare_if_due() {
    if root().must_prepare.replace(false) {
        start_again();
    }
}

fn restart_each_time(why: &str) -> ! {
    root().reset.set(Reset::Exec);
    channel::note(why);
    header().fell_back.store(fell_back::EXEC, Relaxed);
    start_again()
}

/// This process is no longer in its initial state: the controller starts another, which continues
/// with forks.
fn start_again() -> ! {
    channel::set_state(state::AGAIN);
    raw::exit_process(0)
}

fn over() -> ! {
    channel::set_state(state::DONE);
    raw::exit_process(0)
}

fn beyond_memory(trace: i64) -> String {
    format!(
        "the program changes state in the kernel that a memory reset does not restore: {}",
        pass::describe_trace(trace)
    )
}

/// Reports once why memory reset is not used.
fn fall_back(why: &str) {
    root().reset.set(Reset::Fork);
    channel::note(why);
    header().fell_back.store(fell_back::FORK, Relaxed);
}

/// See [`kind`].
const GIVEN_UP: u64 = 4;

/// An execution ended in its own process that was the first there. If it had been run before, to compare
/// it, and only one of the two failed, something outside of the schedule decides: files that earlier
/// executions left, another process.
pub(crate) fn compare_repeated(end: &End) {
    let Some(before) = root().repeats.take() else { return };
    let now = kind(end);
    let given_up = [before, now].contains(&GIVEN_UP);
    let has_failure = matches!(end, End::Failed(_)) || is_failure(before);
    if before != now && has_failure && !given_up {
        note_gap(InstrumentationGap::Outside);
    }
}

/// Whether a [`kind`] is that of a failure: their keys are odd.
fn is_failure(kind: u64) -> bool {
    kind & 1 != 0 && kind != 1
}

/// A number for how an execution ended.
fn kind(end: &End) -> u64 {
    match end {
        End::Passed => 1,
        End::Failed(found) => found.key | 1,
        End::Cut | End::Outside => 2,
        End::GivenUp => GIVEN_UP,
        End::Diverged(_) => 6,
    }
}

/// Runs the next execution in a child, without effect on the strategy.
///
/// It is run again if it found that tasks access other tasks' stacks: from the next execution on
/// those accesses are monitored as well, and the detection of waiting tasks counts accesses.
///
/// If the last execution is not reset yet, `begin` is what to restore before.
fn in_a_fork(prefix: Option<&CommonPrefix>, begin: Option<&Begin>) -> Compared {
    let stacks = root().stacks_touched.get();
    let compared = in_one_fork(prefix, begin);
    // What leaves traces is not compared.
    let is_final = root().stacks_touched.get() == stacks || compared.traces != 0;
    if is_final { compared } else { in_one_fork(prefix, begin) }
}

fn in_one_fork(prefix: Option<&CommonPrefix>, begin: Option<&Begin>) -> Compared {
    restore_files();
    scheduler::forget_pending();
    let strategy = root().strategy.cloned();
    let complete = header().complete.load(Relaxed);
    root().compared.set(Compared::default());
    // SAFETY: `getpid` takes no arguments and touches no memory.
    let copied = unsafe { raw::call!(libc::SYS_getpid) };
    // SAFETY: a `clone` without flags copies the process; see `fork_loop`.
    let child = unsafe { raw::call!(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if child < 0 {
        channel::fail(&cannot_fork(child));
    }
    if child == 0 {
        parent::is_copy_of(copied);
        set_up_process();
        root().strategy.borrow().suspend_cache_updates();
        if let Some(begin) = begin {
            begin.restore();
        }
        let (end, _) = prefix.map_or_else(execute, CommonPrefix::execute_from_end);
        left_files::end(&end);
        system_v::end();
        root().compared.set(Compared {
            done: true,
            digest: record::digest_if(true),
            end: kind(&end),
            traces: pass::take_traces(),
            memory: begin.map_or(0, |_| snapshot::images::digest()),
        });
        root().stacks.set(world().stacks());
        raw::exit_process(0);
    }
    let mut status = 0i32;
    // SAFETY: `wait4` writes the child's status to a local.
    while unsafe { raw::call!(libc::SYS_wait4, child, &raw mut status, 0, 0) } == -4 {}
    exit_if_failed();
    let is_outside = traces::wire::was_ended_from_outside(status);
    if !root().compared.get().done && is_outside && !unresponsive() {
        channel::disturbed(status);
    }
    // SAFETY: this process holds no borrow, and the child ended, perhaps during one.
    unsafe { root().end_borrows() };
    note_process();
    // What is found depends on what was found before in the same execution.
    root().learned.borrow().drop_found();
    root().strategy.set(strategy);
    header().complete.store(complete, Relaxed);
    root().compared.get()
}
