//! What is not modelled yet: named, and the end of the execution, before it can do harm.

use crate::failure;
use crate::interpose::{interpose, site};
use crate::real::Lazy;
use crate::world::on_fiber;

/// Functions that take up to seven words: off a fiber the real one runs, on one the execution ends.
macro_rules! unsupported {
    ($($name:ident)*) => {
        interpose! {
            $(fn $name(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64,
               g: u64) -> u64 {
                if on_fiber() {
                    failure::unsupported(stringify!($name), site());
                }
                static REAL: Lazy = Lazy::new(
                    // SAFETY: `concat!` puts the zero byte at the end.
                    unsafe { std::ffi::CStr::from_bytes_with_nul_unchecked(
                        concat!(stringify!($name), "\0").as_bytes()) },
                    None,
                );
                // SAFETY: integer arguments pass through whatever the function takes of them.
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
    fork vfork clone posix_spawn posix_spawnp execve system popen daemon
}
