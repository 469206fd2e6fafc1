//! The guards of C++'s local static objects: whoever makes the object hands it to all who come later.
//!
//! The library's own functions do the work, and wait by futexes, which come back to us; its atomics
//! are not seen, so that they and the order they make are told here. (The compiler has the program look at the
//! guard first, and call nobody once the object is there.)

use crate::interpose::{interpose, site};
use crate::points;
use crate::real::real;
use crate::scheduler::point;
use crate::task::Gate;
use crate::world::on_fiber;
use std::ffi::c_int;
use traces::Operation;

interpose! {
    fn __cxa_guard_acquire(guard: *mut u64) -> c_int {
        if on_fiber() {
            point(Operation::Once, guard as u64, site(), Gate::Open);
        }
        let answer = real!(__cxa_guard_acquire(guard) as fn(*mut u64) -> c_int);
        points::acquire(guard as u64);
        answer
    }

    fn __cxa_guard_release(guard: *mut u64) -> () {
        if on_fiber() {
            points::stored(guard as u64, 1, site());
        }
        points::release(guard as u64);
        real!(__cxa_guard_release(guard) as fn(*mut u64) -> ())
    }
}
