//! Where variables of the C library are that its functions and the program share.

use crate::detect::access::peek;
use crate::instrument::binary::catalogue::Catalogue;
use crate::instrument::binary::image::Image;
use crate::sys::real;
use std::cell::Cell;
use std::ffi::{CStr, CString};

/// The catalogue, for a program with these modules.
pub(super) fn catalogue(modules: &[(Image, bool)]) -> Catalogue {
    let deletions = [c"pthread_key_delete", c"tss_delete"];
    let mut own = modules.iter().map(|(image, _)| image).filter(|image| image.is_own());
    let deletes_keys = own.any(|image| deletions.iter().any(|name| image.mentions(name)));
    let handlers = [c"sigaction", c"signal", c"sigset", c"bsd_signal", c"__sysv_signal"];
    let mut observed = modules.iter().filter(|(_, is_observed)| *is_observed);
    let handles = observed.any(|(image, _)| handlers.iter().any(|name| image.mentions(name)));
    SYSTEM_CALLS.0.set(real::find(c"syscall", None) as u64);
    let mentions = |name: &str| {
        let name = CString::new(name).unwrap_or_default();
        modules.iter().any(|(image, _)| image.is_own() && image.mentions(&name))
    };
    let streams = real::find(c"_IO_list_all", None) as u64;
    TOKEN_POSITION.0.set(passed_on_third(c"strtok").unwrap_or_default());
    Catalogue::new()
        .with_variables(variables(modules))
        .with_deleted_keys(deletes_keys)
        .with_handlers(handles)
        .with_token(token_position())
        .with_time(passed_on_third(c"gmtime"))
        .with_unlocked_streams(mentions)
        .with_streams((streams != 0).then_some(streams))
}

/// Where the library's function `syscall` is, by which programs make system calls themselves.
struct SystemCalls(Cell<u64>);

// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for SystemCalls {}

static SYSTEM_CALLS: SystemCalls = SystemCalls(Cell::new(0));

/// Whether a system call at this site was made by the function `syscall`.
pub(crate) fn is_in_syscall(site: u64) -> bool {
    const LONGEST: u64 = 64;
    let start = SYSTEM_CALLS.0.get();
    start != 0 && (start..start + LONGEST).contains(&site)
}

/// The address of the variable in which `strtok` keeps where it continues; 0 if it is not known.
struct TokenPosition(Cell<u64>);

// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for TokenPosition {}

static TOKEN_POSITION: TokenPosition = TokenPosition(Cell::new(0));

/// The address of the variable in which `strtok` keeps where it continues, if it is known.
pub(super) fn token_position() -> Option<u64> {
    Some(TOKEN_POSITION.0.get()).filter(|&address| address != 0)
}

/// Finds the address of a variable of the C library, if a module of the program uses it.
fn variables(modules: &[(Image, bool)]) -> impl Fn(&CStr) -> Option<u64> {
    let own: Vec<&Image> = modules.iter().map(|(image, _)| image).filter(|i| i.is_own()).collect();
    move |name| {
        // By `putenv`, strings of the program become a part of the environment.
        let by_call = |image: &&Image| name == c"environ" && image.mentions(c"putenv");
        own.iter().find(|image| image.mentions(name) || by_call(image))?;
        modules.iter().find_map(|(image, _)| image.variable(name))
    }
}

/// The address that a short function of the library passes on as the third argument, which is all that it
/// does: `strtok` to `strtok_r`, `gmtime` to a function that converts.
fn passed_on_third(function: &CStr) -> Option<u64> {
    const LONGEST: u64 = 16;
    /// `lea rdx, [rip + distance]`
    const LOAD: [u8; 3] = [0x48, 0x8d, 0x15];
    let function = real::find(function, None) as u64;
    let byte = |at: u64| peek(at, 1) as u8;
    let is_load = |&at: &u64| (0..3).all(|index| byte(at + index) == LOAD[index as usize]);
    let load = (function..function + LONGEST).find(is_load).filter(|_| function != 0)?;
    let distance = peek(load + 3, 4) as u32 as i32;
    Some((load + 7).wrapping_add_signed(distance.into()))
}
