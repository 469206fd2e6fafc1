//! The guards of C++ local static objects. The thread that initialises the object publishes it to
//! all later ones.
//!
//! The C++ library's functions do the work, and wait by futexes, which come back to the runtime.
//! Its atomic accesses are not instrumented, so the functions here report the accesses and the
//! order that they create. (Compiled code checks the guard first, and makes no call once the object
//! is initialised.)

use crate::detect::access;
use crate::schedule::access_points;
use crate::schedule::scheduler::point;
use crate::state::task::Gate;
use crate::state::world::on_fiber;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::c_int;
use traces::Operation;

interpose! {
    fn __cxa_guard_acquire(guard: *mut u64) -> c_int {
        if on_fiber() {
            point(Operation::Once, guard as u64, site(), Gate::Open);
        }
        let answer = real!(__cxa_guard_acquire(guard) as fn(*mut u64) -> c_int);
        access::acquire(guard as u64);
        answer
    }

    fn __cxa_guard_release(guard: *mut u64) -> () {
        if on_fiber() {
            access_points::stored(guard as u64, 1, site());
        }
        access::release(guard as u64);
        real!(__cxa_guard_release(guard) as fn(*mut u64) -> ())
    }
}
