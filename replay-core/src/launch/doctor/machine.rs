//! Checks of the machine, the kernel's version and the C library.

use super::check::Check;
use std::ffi::CStr;

/// The supported versions of glibc, whose internals the runtime depends on.
const GLIBC: std::ops::RangeInclusive<(u32, u32)> = (2, 35)..=(2, 41);
/// The first Linux with Syscall User Dispatch. User code may set the thread pointer since 5.9.
const LINUX: (u32, u32) = (5, 11);

/// x86-64.
pub(super) fn architecture() -> Check {
    of_architecture(std::env::consts::ARCH)
}

pub(super) fn of_architecture(found: &str) -> Check {
    const NAME: &str = "architecture";
    match found {
        "x86_64" => Check::good(NAME, "x86-64"),
        other => Check::bad(NAME, other, "Heddle runs on x86-64 only"),
    }
}

/// The kernel's version.
pub(super) fn kernel() -> Check {
    // SAFETY: all-zero bytes are a valid value of this struct of byte arrays.
    let mut about: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the call fills in the struct.
    if unsafe { libc::uname(&raw mut about) } != 0 {
        return of_kernel(None);
    }
    // SAFETY: the kernel ends it with a zero byte.
    let release = unsafe { CStr::from_ptr(about.release.as_ptr()) }.to_string_lossy();
    of_kernel(Some(&release))
}

pub(super) fn of_kernel(release: Option<&str>) -> Check {
    const NAME: &str = "kernel";
    let Some(release) = release else {
        return Check::warning(NAME, "unknown", "see the other checks");
    };
    match version(release) {
        Some(version) if version >= LINUX => Check::good(NAME, format!("Linux {release}")),
        _ => Check::warning(
            NAME,
            format!("Linux {release}"),
            format!("Heddle supports Linux {}.{} and newer", LINUX.0, LINUX.1),
        ),
    }
}

/// The C library of this process, which the program usually shares.
pub(super) fn glibc() -> Check {
    // SAFETY: the string is a constant of the library.
    let found = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_string_lossy();
    of_glibc(&found)
}

pub(super) fn of_glibc(found: &str) -> Check {
    const NAME: &str = "glibc";
    let range = "Heddle supports glibc 2.35 to 2.41";
    match version(found) {
        Some(version) if GLIBC.contains(&version) => Check::good(NAME, found),
        Some(version) if version > *GLIBC.end() => Check::warning(
            NAME,
            found,
            format!("{range}: this version is newer and untested, but may work"),
        ),
        _ => Check::bad(
            NAME,
            found,
            format!("{range}: use a newer distribution, or a container with one"),
        ),
    }
}

/// Whether user code may set the thread pointer with an instruction.
pub(super) fn fsgsbase() -> Check {
    const HWCAP2_FSGSBASE: libc::c_ulong = 1 << 1;
    // SAFETY: looks up a number that the kernel left at the start.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    of_fsgsbase(capabilities & HWCAP2_FSGSBASE != 0)
}

pub(super) fn of_fsgsbase(is_usable: bool) -> Check {
    const NAME: &str = "FSGSBASE";
    match is_usable {
        true => Check::good(NAME, "usable"),
        false => Check::bad(
            NAME,
            "not usable",
            "switching between fibers needs it: use a processor of 2013 or newer and Linux 5.9 or \
             newer, without nofsgsbase on the kernel's command line",
        ),
    }
}

/// The first two numbers of a version.
pub(super) fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}
