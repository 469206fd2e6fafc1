//! The runtime that Heddle preloads into a target.
//!
//! Every thread of the program becomes a fiber in the process's one kernel thread; at each visible
//! operation the scheduler decides who goes on. The **manager** (strategy, recording, failures,
//! reset) has a stack and a thread control block of its own; what it keeps lives in memory shared
//! with the controller, so that it outlives any way of going back to the start.
//!
//! Without a controller (no channel in the environment) the library is inert: every interposer
//! calls the real function.
//!
//! Where to look: [`entry`] is how control is taken, [`manager`] the loop over executions,
//! [`scheduler`] what happens at a point, [`models`] what each operation does, [`fiber`] the switch,
//! [`dispatch`] the net that catches system calls.
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "nothing here is public: the documentation is for those who change it"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "interposers have the contracts of the C functions whose place they take"
)]

mod arena;
mod backtrace;
mod begin;
mod block;
mod changes;
mod channel;
mod debugger;
mod dispatch;
mod entry;
mod failure;
mod fiber;
mod heap;
mod identity;
mod interpose;
mod ledger;
mod manager;
mod models;
mod objects;
mod points;
mod raw;
mod real;
mod record;
mod scheduler;
mod scope;
mod signals;
mod stacks;
mod stall;
mod syscalls;
mod task;
mod told;
mod vdso;
mod world;

#[global_allocator]
static HEAP: heap::RuntimeHeap = heap::RuntimeHeap;
