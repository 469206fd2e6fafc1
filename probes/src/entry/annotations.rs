//! The functions of `heddle.h`, by which a program reports to the runtime: explicit points, names,
//! atomic regions, assertions, concurrent predicates. (`heddle_begin`, where executions begin, is in
//! [`crate::entry::start_point`].)

use crate::kernel::abort;
use crate::schedule::program_predicates;
use crate::schedule::scheduler::point;
use crate::state::root::root;
use crate::state::task::Gate;
use crate::state::world::{on_fiber, world};
use crate::steps::declarations;
use crate::sys::interpose::{interpose, site};
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::Ordering::Relaxed;
use traces::Operation;
use traces::points::InstrumentationGap;

interpose! {
    fn heddle_point_at(object: u64) -> () {
        if on_fiber() {
            let object = if object == 0 { declarations::point() } else { object };
            point(Operation::Update, object, site(), Gate::Open);
            crate::steps::record::value(0);
        }
    }
    fn heddle_name(object: u64, name: *const c_char) -> () {
        if object != 0 && !name.is_null() {
            let name = unsafe { CStr::from_ptr(name) };
            declarations::name(object, name.to_bytes(), !on_fiber());
        }
    }
    fn heddle_atomic_begin() -> () {
        if on_fiber() {
            declarations::enter_region(world().current.get());
            root().scoped.set(true);
            let unseen = &crate::sys::channel::header().instrumentation.unseen;
            unseen.store(unseen.load(Relaxed) | InstrumentationGap::Marked as u64, Relaxed);
        }
    }
    fn heddle_atomic_end() -> () {
        if on_fiber() {
            declarations::leave_region(world().current.get());
        }
    }
    fn heddle_cp_arrive(group: u64, count: c_uint, number: c_uint, priority: c_int) -> () {
        if on_fiber() {
            program_predicates::arrive(group, count, number, priority, site());
        }
    }
    fn heddle_cp_evaluated(holds: c_int) -> c_int {
        if on_fiber() { program_predicates::evaluated(holds != 0, site()) } else { 0 }
    }
    fn heddle_cp_leave() -> () {
        if on_fiber() {
            program_predicates::leave(site());
        }
    }
    fn heddle_serial_begin(identity: u64) -> () {
        if on_fiber() {
            program_predicates::enter_serial(identity, site());
        }
    }
    fn heddle_serial_end() -> () {
        if on_fiber() {
            program_predicates::leave_serial();
        }
    }
    fn heddle_failed(expression: *const c_char, file: *const c_char, line: c_uint,
                     function: *const c_char) -> () {
        if on_fiber() {
            abort::assertion(expression, file, line, function, site());
        }
    }
}
