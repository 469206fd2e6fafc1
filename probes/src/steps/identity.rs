//! Identities of objects that are the same in every execution, unlike addresses: a heap block has
//! another address if another task allocated first, a stack if another task was created before,
//! everything if addresses are randomised.
//!
//! Strategies that compare executions get these numbers: for a heap block its task, its index among
//! that task's allocations, and the offset; for memory on a stack the task and the depth; for a
//! variable its module and offset. Memory that the program maps itself is identified by its
//! address.

use crate::fiber::backtrace;
use crate::memory::{arena, shared_views};
use crate::state::world::world;
use search::reduction::events::mix;
use std::cell::RefCell;
use std::ffi::{CStr, c_void};

/// Numbers below this are no addresses but tasks or descriptors.
const FIRST_ADDRESS: u64 = 1 << 16;

/// The loaded modules by their addresses: start, end, and the index in the loader's order. (Modules do not overlap;
/// one that is linked to a fixed address begins at 0.)
struct Modules(RefCell<Vec<(u64, u64, usize)>>);
// SAFETY: the controlled process has one kernel thread. The list is written once, in `prepare`, and
// afterwards only borrowed for reading.
unsafe impl Sync for Modules {}
static MODULES: Modules = Modules(RefCell::new(Vec::new()));

/// Lists the modules, whose addresses are fixed for the life of the process.
pub(crate) fn prepare() {
    let in_order = modules().into_iter().enumerate();
    let mut sorted: Vec<_> = in_order.map(|(index, (base, end))| (base, end, index)).collect();
    sorted.sort_unstable();
    *MODULES.0.borrow_mut() = sorted;
}

/// The first and the last address of each loaded module, in the loader's order.
pub(crate) fn modules() -> Vec<(u64, u64)> {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
        // SAFETY: the loader passes a valid description with `dlpi_phnum` program headers, and `to`
        // is the list that was passed to `dl_iterate_phdr`.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let base = (*info).dlpi_addr;
            let end = headers
                .iter()
                .filter(|header| header.p_type == libc::PT_LOAD)
                .map(|header| base + header.p_vaddr + header.p_memsz)
                .max();
            (*to.cast::<Vec<(u64, u64)>>()).push((base, end.unwrap_or(base)));
            0
        }
    }
    let mut modules = Vec::new();
    // SAFETY: the callback has the right type, and the list outlives the call.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut modules).cast());
    }
    modules
}

/// The loaded modules: the paths of their files, empty for the executable, and their base addresses.
pub(crate) fn named_modules() -> Vec<(String, u64)> {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
        // SAFETY: the loader passes a valid description with a C string as its name or null, and
        // `to` is the list that was passed to `dl_iterate_phdr`.
        unsafe {
            let name = match (*info).dlpi_name.is_null() {
                true => String::new(),
                false => CStr::from_ptr((*info).dlpi_name).to_string_lossy().into_owned(),
            };
            (*to.cast::<Vec<(String, u64)>>()).push((name, (*info).dlpi_addr));
        }
        0
    }
    let mut modules: Vec<(String, u64)> = Vec::new();
    // SAFETY: the callback has the right type, and the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut modules).cast()) };
    modules
}

/// The writable segments of the loaded modules.
pub(crate) fn writable() -> Vec<(u64, u64)> {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
        // SAFETY: the loader passes a valid description with `dlpi_phnum` program headers, and `to`
        // is the list that was passed to `dl_iterate_phdr`.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let wanted = |header: &&libc::Elf64_Phdr| {
                header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0
            };
            for header in headers.iter().filter(wanted) {
                let start = (*info).dlpi_addr + header.p_vaddr;
                (*to.cast::<Vec<(u64, u64)>>()).push((start, start + header.p_memsz));
            }
        }
        0
    }
    let mut segments: Vec<(u64, u64)> = Vec::new();
    // SAFETY: the callback has the right type, and the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut segments).cast()) };
    segments
}

/// The file of a module, by its index among the loaded ones; empty for the executable and if there
/// is no such module.
pub(crate) fn path(module: u16) -> String {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
        // SAFETY: the loader passes a valid description with a C string as its name, and `to` is
        // the local pair below.
        unsafe {
            let (left, path) = &mut *to.cast::<(u16, String)>();
            if *left == 0 {
                *path = CStr::from_ptr((*info).dlpi_name).to_string_lossy().into_owned();
                return 1;
            }
            *left -= 1;
            0
        }
    }
    let mut found = (module, String::new());
    // SAFETY: the callback has the right type, and the pair outlives the call.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut found).cast());
    }
    found.1
}

/// The module that contains an address, and the offset. (Modules do not overlap; one that is linked
/// to a fixed address has base 0.)
pub(crate) fn within(modules: &[(u64, u64)], address: u64) -> Option<(usize, u64)> {
    modules
        .iter()
        .enumerate()
        .filter(|(_, (base, end))| (*base..*end).contains(&address))
        .max_by_key(|(_, (base, _))| *base)
        .map(|(module, (base, _))| (module, address - base))
}

/// The identity of the object at an address.
pub(crate) fn of(address: u64) -> u64 {
    if address < FIRST_ADDRESS {
        return address;
    }
    let address = shared_views::canonical(address);
    let number =
        |kind: u64, of: [u64; 2], offset: u64| mix(mix(mix(kind ^ of[0] << 2) ^ of[1]) ^ offset);
    if let Some(block) = arena::identity_of(address) {
        let (maker, site) = (block.maker.into(), of_code(block.site));
        return number(1, [maker, site], address.wrapping_sub(block.origin));
    }
    let world = world();
    let holds = |number: &u16| {
        let stack = world.tasks[usize::from(*number)].stack.get();
        (stack.low..stack.high).contains(&address)
    };
    if let Some(task) = world.alive().find(holds) {
        let base = world.tasks[usize::from(task)].base.get();
        return number(2, [task.into(), 0], base.wrapping_sub(address));
    }
    of_code(address)
}

/// The identity of a code address.
pub(crate) fn of_code(address: u64) -> u64 {
    let modules = MODULES.0.borrow();
    let after = modules.partition_point(|&(base, ..)| base <= address);
    match modules[..after].last() {
        Some(&(base, end, module)) if address < end => (module as u64 + 1) << 48 | (address - base),
        _ => address,
    }
}

/// A hash of the innermost frames of the running task.
pub(crate) fn around() -> u64 {
    /// How many frames distinguish a site from the same site called from elsewhere.
    const AROUND: usize = 5;
    let mut addresses = [0; AROUND];
    let found = backtrace::innermost(&mut addresses);
    let around = addresses[..found].iter();
    around.fold(0, |hash, &address| mix(hash ^ of_code(address)))
}
