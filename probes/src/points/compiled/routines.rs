//! Functions of the C library that touch memory for a program that tells of its accesses.
//!
//! Compilers leave calls of these to the sanitizer's library, which has functions of the same names that
//! tell. Here they would come before everybody's, this library's own among them. So the words are changed
//! through which those modules of the program call them that tell of their accesses.

use super::{copies, range};
use crate::interpose::{interpose, site};
use crate::points::binary;
use crate::real::real;
use std::ffi::{CStr, c_char, c_int, c_void};

/// How many bytes a text has, with the zero at its end.
fn text(at: *const c_char) -> usize {
    real!(strlen(at) as fn(*const c_char) -> usize) + 1
}

/// How many bytes of two texts are looked at until it is known which comes first.
fn until_they_differ(one: *const c_char, other: *const c_char) -> usize {
    // SAFETY: the program says that texts are there; both are read up to where one ends.
    let ends = |at: &usize| unsafe { *one.add(*at) != *other.add(*at) || *one.add(*at) == 0 };
    (0..).find(ends).unwrap_or(0) + 1
}

interpose! {
    fn heddle_told_memcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        copies(to, from, size, site());
        real!(memcpy(to, from, size) as fn(*mut c_void, *const c_void, usize) -> *mut c_void)
    }
    fn heddle_told_memmove(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        copies(to, from, size, site());
        real!(memmove(to, from, size) as fn(*mut c_void, *const c_void, usize) -> *mut c_void)
    }
    fn heddle_told_mempcpy(to: *mut c_void, from: *const c_void, size: usize) -> *mut c_void {
        copies(to, from, size, site());
        real!(mempcpy(to, from, size) as fn(*mut c_void, *const c_void, usize) -> *mut c_void)
    }
    fn heddle_told_memcpy_chk(to: *mut c_void, from: *const c_void, size: usize, room: usize)
        -> *mut c_void {
        copies(to, from, size, site());
        real!(__memcpy_chk(to, from, size, room)
            as fn(*mut c_void, *const c_void, usize, usize) -> *mut c_void)
    }
    fn heddle_told_memmove_chk(to: *mut c_void, from: *const c_void, size: usize, room: usize)
        -> *mut c_void {
        copies(to, from, size, site());
        real!(__memmove_chk(to, from, size, room)
            as fn(*mut c_void, *const c_void, usize, usize) -> *mut c_void)
    }
    fn heddle_told_memset(to: *mut c_void, value: c_int, size: usize) -> *mut c_void {
        range(to, size, true, site());
        real!(memset(to, value, size) as fn(*mut c_void, c_int, usize) -> *mut c_void)
    }
    fn heddle_told_memset_chk(to: *mut c_void, value: c_int, size: usize, room: usize)
        -> *mut c_void {
        range(to, size, true, site());
        real!(__memset_chk(to, value, size, room)
            as fn(*mut c_void, c_int, usize, usize) -> *mut c_void)
    }
    fn heddle_told_memcmp(one: *const c_void, other: *const c_void, size: usize) -> c_int {
        let site = site();
        range(one, size, false, site);
        range(other, size, false, site);
        real!(memcmp(one, other, size) as fn(*const c_void, *const c_void, usize) -> c_int)
    }
    fn heddle_told_strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
        let site = site();
        copies(to.cast(), from.cast(), text(from), site);
        real!(strcpy(to, from) as fn(*mut c_char, *const c_char) -> *mut c_char)
    }
    fn heddle_told_stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char {
        let site = site();
        copies(to.cast(), from.cast(), text(from), site);
        real!(stpcpy(to, from) as fn(*mut c_char, *const c_char) -> *mut c_char)
    }
    fn heddle_told_strcpy_chk(to: *mut c_char, from: *const c_char, room: usize) -> *mut c_char {
        let site = site();
        copies(to.cast(), from.cast(), text(from), site);
        real!(__strcpy_chk(to, from, room) as fn(*mut c_char, *const c_char, usize) -> *mut c_char)
    }
    fn heddle_told_strlen(at: *const c_char) -> usize {
        let site = site();
        range(at.cast(), text(at), false, site);
        real!(strlen(at) as fn(*const c_char) -> usize)
    }
    fn heddle_told_strcmp(one: *const c_char, other: *const c_char) -> c_int {
        let site = site();
        let size = until_they_differ(one, other);
        range(one.cast(), size, false, site);
        range(other.cast(), size, false, site);
        real!(strcmp(one, other) as fn(*const c_char, *const c_char) -> c_int)
    }
}

macro_rules! routines {
    ($($told:ident = $($name:literal)*;)*) => {
        unsafe extern "C" {
            $(fn $told();)*
        }

        /// What is called, and what is called in its place.
        fn routines() -> Vec<(&'static CStr, u64)> {
            vec![$($(($name, $told as *const () as u64)),*),*]
        }
    };
}

routines! {
    heddle_told_memcpy = c"memcpy";
    heddle_told_memmove = c"memmove";
    heddle_told_mempcpy = c"mempcpy";
    heddle_told_memcpy_chk = c"__memcpy_chk";
    heddle_told_memmove_chk = c"__memmove_chk";
    heddle_told_memset = c"memset";
    heddle_told_memset_chk = c"__memset_chk";
    heddle_told_memcmp = c"memcmp" c"bcmp";
    heddle_told_strcpy = c"strcpy";
    heddle_told_stpcpy = c"stpcpy";
    heddle_told_strcpy_chk = c"__strcpy_chk";
    heddle_told_strlen = c"strlen";
    heddle_told_strcmp = c"strcmp";
}

/// From here on calls of these tell what they touch.
pub(in crate::points) fn take_routines() {
    let routines = routines();
    for (name, slot, constant) in binary::slots() {
        let Some(&(_, told)) = routines.iter().find(|(routine, _)| *routine == name) else {
            continue;
        };
        let page = (slot & !4095) as *mut c_void;
        // SAFETY: a word of the loader's in a module of the program's, which stays as long as that runs; what
        // is put there takes the same arguments. The loader has made all such words what they are to be before
        // main, and protected those pages that nobody is to write from there on.
        unsafe {
            if libc::mprotect(page, 4096, libc::PROT_READ | libc::PROT_WRITE) == 0 {
                (slot as *mut u64).write(told);
                if constant {
                    libc::mprotect(page, 4096, libc::PROT_READ);
                }
            }
        }
    }
}
