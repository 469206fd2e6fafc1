//! Finding the pages that an execution writes.

use crate::sys::raw;

const PAGE: u64 = 4096;

/// Ways to find written pages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Track {
    /// Pages are protected, and a write to one causes a fault.
    Faults,
    /// The kernel tracks writes; these descriptors query it.
    Scan {
        /// The descriptor of the `userfaultfd`.
        faults: i64,
        /// The descriptor of the page map.
        pages: i64,
    },
    /// Writes are not tracked; changes are found by comparing.
    Compare,
}

/// Protects pages, or makes them writable.
pub(super) fn protect(start: u64, len: u64, writable: bool) {
    let prot = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
    // SAFETY: callers pass pages of the program that were readable and writable; a write to a
    // protected one faults and is handled by `write_fault`.
    unsafe {
        raw::call!(libc::SYS_mprotect, start, len, prot);
    }
}

/// The interface of `userfaultfd` and of the page map, from the kernel's headers.
mod abi {
    pub(super) const USER_MODE_ONLY: i32 = 1;
    pub(super) const API: u64 = 0xaa;
    pub(super) const ASYNC: u64 = 1 << 15;
    pub(super) const UNPOPULATED: u64 = 1 << 13;
    pub(super) const IOCTL_API: u64 = 0xc018_aa3f;
    pub(super) const IOCTL_REGISTER: u64 = 0xc020_aa00;
    pub(super) const IOCTL_WRITE_PROTECT: u64 = 0xc018_aa06;
    pub(super) const MODE_WRITE_PROTECT: u64 = 2;
    pub(super) const WRITE_PROTECT: u64 = 1;
    pub(super) const IOCTL_SCAN: u64 = 0xc060_6610;
    pub(super) const IS_WRITTEN: u64 = 2;

    /// `struct pm_scan_arg`.
    #[derive(Default)]
    #[repr(C)]
    pub(super) struct Scan {
        pub(super) size: u64,
        pub(super) flags: u64,
        pub(super) start: u64,
        pub(super) end: u64,
        pub(super) walk_end: u64,
        pub(super) ranges: u64,
        pub(super) ranges_len: u64,
        pub(super) max_pages: u64,
        pub(super) inverted: u64,
        pub(super) all_of: u64,
        pub(super) any_of: u64,
        pub(super) return_mask: u64,
    }

    /// `struct page_region`.
    #[derive(Clone, Copy, Default)]
    #[repr(C)]
    pub(super) struct Range {
        pub(super) start: u64,
        pub(super) end: u64,
        pub(super) categories: u64,
    }
}

/// Descriptors from this number on are higher than programs expect to get.
const FIRST_DESCRIPTOR: u64 = 900;

/// Moves a descriptor to such a high number.
fn away(descriptor: i64) -> i64 {
    // SAFETY: passes no pointers; the descriptor is the runtime's.
    unsafe {
        let moved =
            raw::call!(libc::SYS_fcntl, descriptor, libc::F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
        if moved < 0 {
            return descriptor;
        }
        raw::call!(libc::SYS_close, descriptor);
        moved
    }
}

/// Starts the kernel's write tracking; an error if the kernel does not support it.
pub(super) fn scan() -> Result<Track, String> {
    let refused = |what: &str, error: i64| {
        format!("the kernel does not report which pages were written ({what}: error {})", -error)
    };
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | abi::USER_MODE_ONLY;
    // SAFETY: the kernel reads and writes only locals of the sizes that the interface defines.
    unsafe {
        let faults = raw::call!(libc::SYS_userfaultfd, flags);
        if faults < 0 {
            return Err(refused("userfaultfd", faults));
        }
        let faults = away(faults);
        let mut api = [abi::API, abi::ASYNC | abi::UNPOPULATED, 0];
        let answer = raw::call!(libc::SYS_ioctl, faults, abi::IOCTL_API, api.as_mut_ptr());
        if answer < 0 {
            raw::call!(libc::SYS_close, faults);
            return Err(refused("write protection", answer));
        }
        let path = c"/proc/self/pagemap".as_ptr();
        let pages = raw::call!(libc::SYS_open, path, libc::O_RDONLY | libc::O_CLOEXEC);
        if pages < 0 {
            raw::call!(libc::SYS_close, faults);
            return Err(refused("the page map", pages));
        }
        let track = Track::Scan { faults, pages: away(pages) };
        // An older kernel does not support this query.
        track.ask(0, PAGE, &mut |_| {}).map_err(|error| refused("PAGEMAP_SCAN", error))?;
        Ok(track)
    }
}

impl Track {
    /// Starts to watch a range.
    pub(super) fn begin(self, start: u64, end: u64) -> Result<(), String> {
        match self {
            Track::Faults => protect(start, end - start, false),
            Track::Scan { faults, .. } => {
                let mut register = [start, end - start, abi::MODE_WRITE_PROTECT, 0];
                // SAFETY: the kernel reads a local structure; the pages are the program's.
                let answer = unsafe {
                    raw::call!(libc::SYS_ioctl, faults, abi::IOCTL_REGISTER, register.as_mut_ptr())
                };
                if answer < 0 {
                    return Err(format!("writes cannot be watched (error {})", -answer));
                }
                write_protect(faults, start, end - start);
            }
            Track::Compare => {}
        }
        Ok(())
    }

    /// Stops to watch everything.
    pub(super) fn end(self) {
        if let Track::Scan { faults, pages } = self {
            for descriptor in [faults, pages] {
                // SAFETY: passes no pointers; the descriptors are the runtime's.
                unsafe {
                    raw::call!(libc::SYS_close, descriptor);
                }
            }
        }
    }

    /// Watches a page again that was written.
    pub(super) fn again(self, page: u64) {
        match self {
            Track::Faults => protect(page, PAGE, false),
            Track::Scan { faults, .. } => write_protect(faults, page, PAGE),
            Track::Compare => {}
        }
    }

    /// Calls `found` with the pages of a range that were written since they are watched.
    pub(super) fn for_each_written(self, start: u64, end: u64, found: &mut impl FnMut(u64)) {
        if let Err(error) = self.ask(start, end, found) {
            crate::sys::channel::fail(&format!(
                "the kernel no longer reports which pages were written (error {}): use --reset fork",
                -error
            ));
        }
    }

    fn ask(self, start: u64, end: u64, found: &mut impl FnMut(u64)) -> Result<(), i64> {
        let Track::Scan { pages, .. } = self else { return Ok(()) };
        let mut ranges = [abi::Range::default(); 64];
        let mut from = start;
        while from < end {
            let mut scan = abi::Scan {
                size: size_of::<abi::Scan>() as u64,
                start: from,
                end,
                ranges: ranges.as_mut_ptr() as u64,
                ranges_len: ranges.len() as u64,
                all_of: abi::IS_WRITTEN,
                return_mask: abi::IS_WRITTEN,
                ..abi::Scan::default()
            };
            // SAFETY: the kernel reads the local `scan`, and writes at most `ranges_len` entries to
            // the local array whose address is in it.
            let len = unsafe { raw::call!(libc::SYS_ioctl, pages, abi::IOCTL_SCAN, &raw mut scan) };
            if len < 0 {
                return Err(len);
            }
            for range in &ranges[..len as usize] {
                (range.start..range.end).step_by(PAGE as usize).for_each(&mut *found);
            }
            if scan.walk_end <= from {
                return Ok(());
            }
            from = scan.walk_end;
        }
        Ok(())
    }
}

fn write_protect(faults: i64, start: u64, len: u64) {
    let mut protect = [start, len, abi::WRITE_PROTECT];
    // SAFETY: the kernel reads a local structure; the range was registered.
    unsafe {
        raw::call!(libc::SYS_ioctl, faults, abi::IOCTL_WRITE_PROTECT, protect.as_mut_ptr());
    }
}
