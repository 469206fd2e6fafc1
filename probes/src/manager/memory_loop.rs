//! The loop with memory reset: executions one after the other in one process, as long as that is
//! sound.
//!
//! Trust, then check: the first executions are run in a fork as well, and compared record by
//! record. An execution that leaves something in the kernel ends the use of memory reset for good;
//! the program is started again then and goes on with forks.

use super::memory;
use super::{
    End, Relaxed, Reset, die_with_parent, execute, exit_if_failed, fork_loop, note_process,
    own_ranges, ready, root, set_up_process, settle,
};
use crate::channel::{self, header};
use crate::models::{exit, keys, named, thread};
use crate::raw;
use crate::record;
use crate::signals;
use crate::stacks;
use crate::syscalls;
use crate::world::{Saved, world};
use traces::wire::{fell_back, state};

/// What a child says of the execution that it ran for comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    /// Whether it came to its end.
    done: bool,
    digest: u64,
    /// A number for how it ended.
    end: u64,
    /// What it left in the kernel first, or 0.
    traces: i64,
}

/// The runtime's own state that is no part of the snapshot.
struct Begin {
    world: Saved,
    blocks: usize,
    keys: Vec<u64>,
    handlers: (u64, u64),
    named: u64,
    wanted: Vec<signals::Action>,
}

impl Begin {
    fn save() -> Begin {
        Begin {
            world: world().save(),
            blocks: thread::spare_blocks(),
            keys: keys::save(),
            handlers: exit::save(),
            named: named::save(),
            wanted: signals::save(),
        }
    }

    fn restore(&self) {
        world().restore(&self.world);
        thread::restore_spares(self.blocks);
        keys::restore(&self.keys);
        exit::restore(self.handlers);
        named::restore(self.named);
        signals::restore(&self.wanted);
        crate::ledger::restore();
        memory::restore();
    }
}

pub(super) fn run() -> ! {
    if !ready() {
        over();
    }
    // The first comparison is made before anything is touched: a program that leaves traces in the
    // kernel is never run in place at all.
    let mut first = in_a_fork();
    // Stacks of the sizes that it asks for are made once, not in each execution; then addresses are
    // others, and what is compared is run again.
    if stacks::prepare(&std::mem::take(&mut root().stacks)) > 0 {
        first = in_a_fork();
    }
    if root().moved {
        start_anew();
    }
    if first.traces != 0 {
        fall_back(&beyond_memory(first.traces));
        fork_loop();
    }
    if !first.done {
        fall_back("the first execution took its process with it");
        fork_loop();
    }
    set_up_process();
    if let Err(message) = memory::take(&own_ranges(), root().tracking) {
        fall_back(&message);
        fork_loop();
    }
    let begin = Begin::save();
    syscalls::take_traces();
    // Where several search at a time, what is already seen to may change between the two.
    let mut expected = (root().checks > 0).then_some(first);
    loop {
        if !ready() {
            over();
        }
        let before = (root().checks > 0).then(|| root().strategy.clone());
        if expected.is_none() && root().checks > 0 {
            expected = Some(in_a_fork());
        }
        let number = root().next;
        let (end, _) = execute();
        memory::collect();
        let now = Compared {
            done: true,
            digest: record::digest_if(expected.is_some()),
            end: kind(&end),
            traces: syscalls::take_traces(),
        };
        if let Some(expected) = expected.take() {
            root().checks = root().checks.saturating_sub(1);
            header().checks.fetch_add(1, Relaxed);
            if expected != now {
                // What was seen here cannot be trusted: it does not count, and is run again.
                if let Some(before) = before {
                    root().strategy = before;
                }
                fall_back("an execution differed from the same one in a fork");
                start_again();
            }
        }
        if settle(number, end) {
            over();
        }
        if root().moved {
            start_anew();
        }
        if now.traces != 0 {
            fall_back(&beyond_memory(now.traces));
            start_again();
        }
        if memory::is_too_much() {
            fall_back("the program changes more memory than a fork costs");
            start_again();
        }
        begin.restore();
    }
}

/// From here on the program is started again for each execution: what it opened before main or
/// before `heddle_begin` was moved, and forks would share it.
pub(super) fn start_anew() -> ! {
    root().moved = false;
    root().reset = Reset::Exec;
    channel::note(
        "the program moves a file that it opened before its executions began, which forks share",
    );
    header().fell_back.store(fell_back::EXEC, Relaxed);
    start_again()
}

/// This process is not what it was: the controller starts another, which goes on with forks.
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
        "the program uses the kernel beyond its own memory: {}",
        syscalls::describe_trace(trace)
    )
}

/// Says once why memory reset is not used.
fn fall_back(why: &str) {
    root().reset = Reset::Fork;
    channel::note(why);
    header().fell_back.store(fell_back::FORK, Relaxed);
}

fn kind(end: &End) -> u64 {
    match end {
        End::Passed => 1,
        End::Failed(found) => found.key | 1,
        End::Cut => 2,
        End::GivenUp => 4,
        End::Diverged(_) => 6,
    }
}

/// Runs the next execution in a child, and leaves the strategy as it was.
fn in_a_fork() -> Compared {
    let strategy = root().strategy.clone();
    let complete = header().complete.load(Relaxed);
    root().compared = Compared::default();
    // SAFETY: asks for the process id.
    let parent = unsafe { raw::call!(libc::SYS_getpid) };
    // SAFETY: a bare fork, as in the loop with forks.
    let child = unsafe { raw::call!(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if child < 0 {
        channel::fail(&format!("no process can be made for an execution (error {})", -child));
    }
    if child == 0 {
        die_with_parent(parent);
        set_up_process();
        root().strategy.only_look();
        let (end, _) = execute();
        root().compared = Compared {
            done: true,
            digest: record::digest_if(true),
            end: kind(&end),
            traces: syscalls::take_traces(),
        };
        root().stacks = world().stacks();
        raw::exit_process(0);
    }
    let mut status = 0i32;
    // SAFETY: waits for the child; the status is ours.
    while unsafe { raw::call!(libc::SYS_wait4, child, &raw mut status, 0, 0) } == -4 {}
    exit_if_failed();
    note_process();
    root().strategy = strategy;
    header().complete.store(complete, Relaxed);
    root().compared
}
