//! C library functions that access memory on behalf of compiler-instrumented code.
//!
//! Compilers leave calls of these to the sanitizer's library, which interposes instrumented
//! functions of the same names. Here that would intercept the calls of every module, including this
//! library's. Instead, the GOT entries through which instrumented modules of the program call them
//! are changed.

use crate::instrument::binary;
use crate::instrument::compiled::{copies, range};
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::{CStr, c_char, c_int, c_void};

/// The length of a C string in bytes, including the zero.
fn text(at: *const c_char) -> usize {
    real!(strlen(at) as fn(*const c_char) -> usize) + 1
}

/// How many bytes of two C strings are compared until their order is known.
fn until_they_differ(one: *const c_char, other: *const c_char) -> usize {
    // SAFETY: the program passes two C strings to `strcmp`; both are read only up to the first
    // difference or end.
    let ends = |at: &usize| unsafe { *one.add(*at) != *other.add(*at) || *one.add(*at) == 0 };
    (0..).find(ends).unwrap_or(0) + 1
}

interpose! {
    fn heddle_instrumented_memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        copies(to, from, size, site());
        real!(memcpy(to, from, size) as fn(*mut c_void, *const c_void, usize) -> *mut c_void)
    }
    fn heddle_instrumented_memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        copies(to, from, size, site());
        real!(memmove(to, from, size) as fn(*mut c_void, *const c_void, usize) -> *mut c_void)
    }
    fn heddle_instrumented_mempcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        copies(to, from, size, site());
        real!(mempcpy(to, from, size) as fn(*mut c_void, *const c_void, usize) -> *mut c_void)
    }
    fn heddle_instrumented_memcpy_chk(to: *mut c_void, from: *const c_void, size: usize, room: usize)
        -> *mut c_void {
        copies(to, from, size, site());
        real!(__memcpy_chk(to, from, size, room)
            as fn(*mut c_void, *const c_void, usize, usize) -> *mut c_void)
    }
    fn heddle_instrumented_memmove_chk(to: *mut c_void, from: *const c_void, size: usize, room: usize)
        -> *mut c_void {
        copies(to, from, size, site());
        real!(__memmove_chk(to, from, size, room)
            as fn(*mut c_void, *const c_void, usize, usize) -> *mut c_void)
    }
    fn heddle_instrumented_memset(to: *mut c_void, value: c_int, size: usize) -> *mut c_void {
        range(to, size, true, site());
        real!(memset(to, value, size) as fn(*mut c_void, c_int, usize) -> *mut c_void)
    }
    fn heddle_instrumented_memset_chk(to: *mut c_void, value: c_int, size: usize, room: usize)
        -> *mut c_void {
        range(to, size, true, site());
        real!(__memset_chk(to, value, size, room)
            as fn(*mut c_void, c_int, usize, usize) -> *mut c_void)
    }
    fn heddle_instrumented_memcmp(one: *const c_void, other: *const c_void, size: usize) -> c_int {
        let site = site();
        range(one, size, false, site);
        range(other, size, false, site);
        real!(memcmp(one, other, size) as fn(*const c_void, *const c_void, usize) -> c_int)
    }
    fn heddle_instrumented_strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
        let site = site();
        copies(to.cast(), from.cast(), text(from), site);
        real!(strcpy(to, from) as fn(*mut c_char, *const c_char) -> *mut c_char)
    }
    fn heddle_instrumented_stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
        let site = site();
        copies(to.cast(), from.cast(), text(from), site);
        real!(stpcpy(to, from) as fn(*mut c_char, *const c_char) -> *mut c_char)
    }
    fn heddle_instrumented_strcpy_chk(to: *mut c_char, from: *const c_char, room: usize) -> *mut c_char {
        let site = site();
        copies(to.cast(), from.cast(), text(from), site);
        real!(__strcpy_chk(to, from, room) as fn(*mut c_char, *const c_char, usize) -> *mut c_char)
    }
    fn heddle_instrumented_strlen(at: *const c_char) -> usize {
        let site = site();
        range(at.cast(), text(at), false, site);
        real!(strlen(at) as fn(*const c_char) -> usize)
    }
    fn heddle_instrumented_strcmp(one: *const c_char, other: *const c_char) -> c_int {
        let site = site();
        let size = until_they_differ(one, other);
        range(one.cast(), size, false, site);
        range(other.cast(), size, false, site);
        real!(strcmp(one, other) as fn(*const c_char, *const c_char) -> c_int)
    }
}

macro_rules! routines {
    ($($replacement:ident = $($name:literal)*;)*) => {
        unsafe extern "C" {
            $(fn $replacement();)*
        }

        /// The name of each function, and the address of its replacement.
        fn routines() -> Vec<(&'static CStr, u64)> {
            vec![$($(($name, $replacement as *const () as u64)),*),*]
        }
    };
}

routines! {
    heddle_instrumented_memcpy = c"memcpy";
    heddle_instrumented_memmove = c"memmove";
    heddle_instrumented_mempcpy = c"mempcpy";
    heddle_instrumented_memcpy_chk = c"__memcpy_chk";
    heddle_instrumented_memmove_chk = c"__memmove_chk";
    heddle_instrumented_memset = c"memset";
    heddle_instrumented_memset_chk = c"__memset_chk";
    heddle_instrumented_memcmp = c"memcmp" c"bcmp";
    heddle_instrumented_strcpy = c"strcpy";
    heddle_instrumented_stpcpy = c"stpcpy";
    heddle_instrumented_strcpy_chk = c"__strcpy_chk";
    heddle_instrumented_strlen = c"strlen";
    heddle_instrumented_strcmp = c"strcmp";
}

/// Redirects calls of these functions to instrumented ones.
pub(crate) fn take_routines() {
    let routines = routines();
    binary::imports::take_imports(|name| {
        routines.iter().any(|(routine, _)| *routine == name)
            || [b"__tsan".as_slice(), b"__sanitizer"]
                .iter()
                .any(|own| name.to_bytes().starts_with(own))
    });
    for (name, slot, constant) in binary::slots() {
        let Some(&(_, replacement)) = routines.iter().find(|(routine, _)| *routine == name) else {
            continue;
        };
        let page = (slot & !4095) as *mut c_void;
        // SAFETY: the slot is a GOT entry of a module of the program, which stays loaded as long as
        // the program runs, and the replacement has the same type as the function. The loader has
        // resolved all such entries before main, and write-protected those pages that are constant
        // from then on.
        unsafe {
            if libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_WRITE) == 0 {
                (slot as *mut u64).write(replacement);
                if constant {
                    libc::mprotect(page, 4096, libc::PROT_READ);
                }
            }
        }
    }
}
