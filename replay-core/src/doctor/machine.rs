//! The machine, the kernel's version and the C library.

use super::Check;
use std::ffi::CStr;

/// The versions of glibc whose inner workings are known.
const GLIBC: std::ops::RangeInclusive<(u32, u32)> = (2, 35)..=(2, 41);
/// The first Linux with Syscall User Dispatch; user code may set the thread pointer from 5.9.
const LINUX: (u32, u32) = (5, 11);

/// x86-64.
pub(super) fn architecture() -> Check {
    const NAME: &str = "architecture";
    match std::env::consts::ARCH {
        "x86_64" => Check::good(NAME, "x86-64"),
        other => Check::bad(NAME, other, "Heddle runs on x86-64 only"),
    }
}

/// The kernel's version.
pub(super) fn kernel() -> Check {
    const NAME: &str = "kernel";
    // SAFETY: all-zero bytes are a valid value of this struct of byte arrays.
    let mut about: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the call fills in the struct.
    if unsafe { libc::uname(&raw mut about) } != 0 {
        return Check::warning(NAME, "unknown", "see whether the other checks are good");
    }
    // SAFETY: the kernel ends it with a zero byte.
    let release = unsafe { CStr::from_ptr(about.release.as_ptr()) }.to_string_lossy().into_owned();
    match version(&release) {
        Some(version) if version >= LINUX => Check::good(NAME, format!("Linux {release}")),
        _ => Check::warning(
            NAME,
            format!("Linux {release}"),
            format!("Heddle is made for Linux {}.{} and newer", LINUX.0, LINUX.1),
        ),
    }
}

/// The C library of this process, which is most often that of the program, too.
pub(super) fn glibc() -> Check {
    // SAFETY: the string is a constant of the library.
    let found = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_string_lossy();
    of_glibc(&found)
}

pub(super) fn of_glibc(found: &str) -> Check {
    const NAME: &str = "glibc";
    let range = "Heddle knows glibc 2.35 to 2.41";
    match version(found) {
        Some(version) if GLIBC.contains(&version) => Check::good(NAME, found),
        Some(version) if version > *GLIBC.end() => Check::warning(
            NAME,
            found,
            format!("{range}: this one is newer and may work, but was not tried"),
        ),
        _ => Check::bad(
            NAME,
            found,
            format!("{range}: use a newer distribution, or a container with one"),
        ),
    }
}

/// Whether user code may set the thread pointer by an instruction.
pub(super) fn fsgsbase() -> Check {
    const NAME: &str = "FSGSBASE";
    const HWCAP2_FSGSBASE: libc::c_ulong = 1 << 1;
    // SAFETY: looks up a number that the kernel left at the start.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    match capabilities & HWCAP2_FSGSBASE != 0 {
        true => Check::good(NAME, "usable"),
        false => Check::bad(
            NAME,
            "not usable",
            "switching between threads needs it: a processor of 2013 or newer, Linux 5.9 or newer, and no nofsgsbase on the kernel's command line",
        ),
    }
}

/// The first two numbers of a version.
pub(super) fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}
