//! Probes that are come to so often that they would hold the program up are taken out until the execution is
//! over.

use super::setting::put_back;
use super::{POINTS, PROBES, Probe, are_there, image};
use crate::points::out_of_sight;
use crate::raw;
use crate::world::world;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::Unseen;

/// A breakpoint that is come to so often without a step is taken out until the execution is over.
const TIRES_AFTER: u32 = 5_000;
/// After so many in one execution all are.
pub(super) const ALL_TIRE_AFTER: u64 = 1_000_000;

impl Probe {
    /// Counts a stop at a breakpoint; false, and it is not counted, if there were too many.
    pub(super) fn is_bearable(&mut self) -> bool {
        let step = u64::from(POINTS.shadow.generation()) << 40 | world().step.get();
        if self.step != step {
            self.step = step;
            self.hits = 0;
        }
        let stops = PROBES.stops.get();
        if self.hits >= TIRES_AFTER || stops >= ALL_TIRE_AFTER {
            return false;
        }
        self.hits += 1;
        PROBES.stops.set(stops + 1);
        true
    }
}

/// Takes probes out until the execution is over.
pub(super) fn tire(which: impl Fn(u64) -> bool) {
    let tired = &crate::channel::header().sight.tired;
    if !PROBES.tired.get() {
        tired.store(tired.load(Relaxed) + 1, Relaxed);
    }
    take_out(which);
}

fn take_out(which: impl Fn(u64) -> bool) {
    PROBES.tired.set(true);
    // What moved keeps its copy: somebody may be in there.
    PROBES.modules().for_each(|module| _ = module.with_text(|| put_back(module, &which)));
}

/// Takes all probes out until the execution is over: what comes is not the program's business.
pub(in crate::points) fn rest() {
    if are_there() {
        take_out(|_| true);
    }
}

/// The program is about to change these bytes, or whether they may be changed; whether they are its own
/// code, which is then left to it.
pub(in crate::points) fn about_to_change(start: u64, len: u64) -> bool {
    let overlaps = |(low, high)| start < high && low < start.saturating_add(len);
    let is_code = are_there() && PROBES.modules().any(|module| overlaps(module.text()));
    if is_code {
        out_of_sight(Unseen::Changed);
        take_out(|_| true);
    }
    is_code
}

/// Whether a descriptor is of a file that is no library of the system's.
pub(in crate::points) fn is_own_file(descriptor: i32) -> bool {
    let mut name = *b"/proc/self/fd/..........\0";
    let mut digits = descriptor.max(0) as u32;
    for digit in name[14..24].iter_mut().rev() {
        *digit = b'0' + (digits % 10) as u8;
        digits /= 10;
    }
    // Numbers there have no zeros in front.
    let zeros = name[14..23].iter().take_while(|&&digit| digit == b'0').count();
    name.copy_within(14 + zeros.., 14);
    let mut path = [0u8; 256];
    // SAFETY: the name ends in a zero byte, and the buffer is as long as is said.
    let len =
        unsafe { raw::call!(libc::SYS_readlink, name.as_ptr(), path.as_mut_ptr(), path.len()) };
    let path = &path[..len.clamp(0, 256) as usize];
    !image::SYSTEM.iter().any(|system| path.starts_with(system.as_bytes()))
}
