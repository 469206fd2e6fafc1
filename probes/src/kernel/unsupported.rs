//! Functions that are not modelled: a call ends the execution with the function's name, before it
//! can do harm.

use crate::state::outcome;
use crate::state::world::on_fiber;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::lazy;

/// Functions of up to seven words: outside fibers the real function runs, on a fiber the execution
/// ends.
macro_rules! unsupported {
    ($($name:ident)*) => {
        interpose! {
            $(fn $name(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64,
               g: u64) -> u64 {
                if on_fiber() {
                    outcome::unsupported(stringify!($name), site());
                }
                lazy! {
                    static REAL =
                        // SAFETY: `concat!` appends the only zero byte.
                        unsafe { std::ffi::CStr::from_bytes_with_nul_unchecked(
                            concat!(stringify!($name), "\0").as_bytes()) }, None;
                }
                // SAFETY: all arguments are passed on in the registers in which they came; a
                // function with fewer parameters ignores the rest.
                unsafe {
                    let real: unsafe extern "C-unwind" fn(u64, u64, u64, u64, u64, u64, u64) -> u64 =
                        std::mem::transmute(REAL.get());
                    real(a, b, c, d, e, f, g)
                }
            })*
        }
    };
}

unsupported! {
    clone
}
