//! Executions that begin in the middle of one (`--begin-at`).
//!
//! The first execution of a process runs up to the point at which the search begins. There the process stays, and each
//! execution is a copy of it that continues: what all executions have in common is done once. The copies share the
//! kernel's open files, so after each execution the process puts back what it changed ([`descriptor_states`]). If that
//! is impossible, each execution begins at main, and does the same more slowly.
//!
//! [`descriptor_states`]: crate::kernel::descriptor_states

use crate::executions::processes::{
    cannot_fork, ended, exit_if_failed, note_process, ready, restore_files, set_up_process,
    unresponsive,
};
use crate::kernel::children;
use crate::kernel::clients;
use crate::kernel::descriptor_states::DescriptorStates;
use crate::kernel::left_files;
use crate::memory::snapshot;
use crate::schedule::start_point;
use crate::state::root::{Root, root};
use crate::steps::{objects, record};
use crate::sys::channel::{self, header};
use crate::sys::dispatch;
use crate::sys::{parent, raw, stops};
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use traces::wire::{Reset, state, was_ended_from_outside};

/// Whether this process may run several executions from here.
fn may_stay(root: &Root) -> bool {
    root.reset.get() == Reset::Fork
        && !root.full
        && root.live.is_empty()
        && root.stays_at_start.get()
        // What one copy sends on a connection, the next one would receive.
        && !clients::are_connected()
        && start_point::is_fixed(root)
        && !stops::is_there()
        && snapshot::shared_mapping().is_none()
}

/// The execution has reached the point. Returns in each execution that continues from here.
pub(crate) fn reached() {
    let root = root();
    if !may_stay(root) {
        return;
    }
    // The heap is shared: what a copy frees, this process has no longer.
    let descriptors = ManuallyDrop::new(DescriptorStates::save());
    let clocks = ManuallyDrop::new(root.time.borrow().clocks.clone());
    let (record, objects) = (record::save(), objects::save());
    let output = header().output_len.load(Relaxed);
    left_files::begin();
    children::adopt();
    let own = process();
    loop {
        restore_files();
        let before = ended();
        // SAFETY: a `clone` without flags copies the process; see `fork_loop`.
        let child = unsafe { raw::call!(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
        if child < 0 {
            channel::fail(&cannot_fork(child));
        }
        if child == 0 {
            parent::is_copy_of(own);
            note_process();
            set_up_process();
            dispatch::block();
            if !root.is_learning() {
                header().execution.store(root.next.get(), Relaxed);
            }
            record::restore(&record);
            objects::restore(objects);
            root.time.borrow().clocks.clone_from(&clocks);
            header().output_len.store(output, Relaxed);
            return;
        }
        let mut status = 0i32;
        // SAFETY: `wait4` writes the child's status to a local variable.
        while unsafe { raw::call!(libc::SYS_wait4, child, &raw mut status, 0, 0) } == -4 {}
        children::end_all();
        exit_if_failed();
        // SAFETY: this process holds no borrow, and the child ended, perhaps during one.
        unsafe { root.end_borrows() };
        if header().state.load(Acquire) == state::DONE {
            raw::exit_process(0);
        }
        if ended() == before {
            // The process above settles an execution that did not end in order.
            leave(status, unresponsive());
        }
        if root.moved.get() || root.must_prepare.get() {
            raw::exit_process(0);
        }
        if !descriptors.restore() {
            root.stays_at_start.set(false);
            raw::exit_process(0);
        }
        if !ready() {
            channel::set_state(state::DONE);
            raw::exit_process(0);
        }
        crate::instrument::monitoring::refresh();
    }
}

/// Ends this process as the execution ended, so that the process above finds the same.
fn leave(status: i32, unresponsive: bool) -> ! {
    if unresponsive {
        header().unresponsive.store(1, Relaxed);
    } else if was_ended_from_outside(status) {
        channel::disturbed(status);
    }
    let signal = libc::WTERMSIG(status);
    if libc::WIFSIGNALED(status) {
        // SAFETY: the calls read locals: the default action, and no mask.
        unsafe {
            let action = [0u64; 4];
            let none = 0u64;
            raw::call!(libc::SYS_rt_sigaction, signal, action.as_ptr(), 0, 8);
            raw::call!(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const none, 0, 8);
            raw::call!(libc::SYS_kill, process(), signal);
        }
    }
    raw::exit_process(libc::WEXITSTATUS(status))
}

fn process() -> i64 {
    // SAFETY: `getpid` takes no arguments and touches no memory.
    unsafe { raw::call!(libc::SYS_getpid) }
}
