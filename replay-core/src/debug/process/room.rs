//! Memory near the program's code for the debugger's own use.

use super::tracee::Tracee;
use crate::Error;
use crate::symbols::read_maps;
use std::path::Path;

/// The size of a page.
pub(super) const PAGE: u64 = 4096;

/// Maps two pages within reach of the program's code and data, the first one for copies of its
/// instructions. Returns 0 if there is no free space.
pub(super) fn room_near_program(tracee: &Tracee, syscall: u64) -> Result<u64, Error> {
    const STRIDE: u64 = 1 << 20;
    const LOWEST: u64 = 1 << 16;
    let pid = tracee.pid();
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let maps = read_maps(pid).unwrap_or_default();
    let own = maps.iter().find(|mapping| Path::new(&mapping.path) == program);
    let Some(start) = own.map(|mapping| mapping.range.start) else { return Ok(0) };
    // Below the program, because its heap grows above it.
    let places = (1..64).map_while(|step| start.checked_sub(step * STRIDE));
    for place in places.filter(|&place| place >= LOWEST) {
        if tracee.map(syscall, place..place + 2 * PAGE)? {
            return Ok(place);
        }
    }
    Ok(0)
}
