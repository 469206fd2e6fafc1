//! The runtime that Heddle preloads into a target.
//!
//! Every thread of the program becomes a fiber in the process's one kernel thread; at each visible
//! operation the scheduler decides which task runs next. The **manager** (strategy, recording,
//! failures, reset) has its own stack and thread control block; its state is in memory shared with
//! the controller, so that every kind of reset preserves it.
//!
//! Without a controller (no channel in the environment) the library is inert: every interposer
//! calls the real function, except those of the heap ([`memory::arena`]).
//!
//! Where to start: [`entry`] takes control, [`executions`] is the loop over executions,
//! [`schedule`] is a scheduling point, [`primitives`] and [`kernel`] implement each operation,
//! [`instrument`] intercepts accesses to memory, [`detect`] compares them, [`fiber`] is the switch,
//! [`sys::dispatch`] intercepts system calls.
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "nothing here is public: the documentation is for the crate's maintainers"
)]
#![allow(
    clippy::missing_safety_doc,
    reason = "interposers have the contracts of the C functions that they replace"
)]

mod debugger;
mod detect;
mod entry;
mod executions;
mod fiber;
mod instrument;
mod kernel;
mod memory;
mod primitives;
mod schedule;
mod state;
mod steps;
mod sys;

/// The allocator of the runtime. Tests of functions without a target use the program's.
#[cfg_attr(not(test), global_allocator)]
#[cfg_attr(test, expect(dead_code, reason = "the tests run outside of a target"))]
static HEAP: memory::runtime_heap::RuntimeHeap = memory::runtime_heap::RuntimeHeap;
