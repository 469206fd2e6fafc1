//! What stands for an object in every execution, where an address would not: a block of the heap lies
//! elsewhere when another task allocates first, a stack when another task was there before, everything
//! where addresses are random.
//!
//! A strategy that compares executions is told these numbers: of a block its task, its place among what
//! that task allocated, and the offset; of what lies on a stack its task and the depth; of a variable
//! its module and offset. What the program maps by itself goes by its address.

use crate::arena;
use crate::task::Task;
use crate::world::world;
use search::events::mix;
use std::cell::RefCell;
use std::ffi::{CStr, c_void};

/// Numbers below are no addresses: tasks, descriptors.
const FIRST_ADDRESS: u64 = 1 << 16;

/// The loaded modules: start, end.
struct Modules(RefCell<Vec<(u64, u64)>>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Modules {}
static MODULES: Modules = Modules(RefCell::new(Vec::new()));

/// Lists the modules, which are where they are for as long as the process lives.
pub(crate) fn prepare() {
    *MODULES.0.borrow_mut() = modules();
}

/// The first and the last address of each module that is loaded, in the loader's order.
pub(crate) fn modules() -> Vec<(u64, u64)> {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
        // SAFETY: the loader's tables, and our own list.
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
    // SAFETY: the callback only adds to the list.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut modules).cast());
    }
    modules
}

/// The file of a module, by its number among those that are loaded; empty for the program itself and where
/// there is none.
pub(crate) fn path(module: u16) -> String {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
        // SAFETY: the loader's tables, and our own pair.
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
    // SAFETY: the callback only changes the pair.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut found).cast());
    }
    found.1
}

/// The module that an address lies in, and the offset there. (Modules do not overlap; one that is linked
/// to a fixed address has base 0.)
pub(crate) fn within(modules: &[(u64, u64)], address: u64) -> Option<(usize, u64)> {
    modules
        .iter()
        .enumerate()
        .filter(|(_, (base, end))| (*base..*end).contains(&address))
        .max_by_key(|(_, (base, _))| *base)
        .map(|(module, (base, _))| (module, address - base))
}

/// What stands for what lies at an address.
pub(crate) fn of(address: u64) -> u64 {
    if address < FIRST_ADDRESS {
        return address;
    }
    let number =
        |kind: u64, of: [u64; 2], offset: u64| mix(mix(mix(kind ^ of[0] << 2) ^ of[1]) ^ offset);
    if let Some(([maker, site], offset)) = arena::name(address) {
        return number(1, [maker, of_code(site)], offset);
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

/// What stands for a place in the code.
pub(crate) fn of_code(address: u64) -> u64 {
    match within(&MODULES.0.borrow(), address) {
        Some((module, offset)) => (module as u64 + 1) << 48 | offset,
        None => address,
    }
}

/// What stands for the object of a task's next operation, which the task may have just come to.
pub(crate) fn of_task(task: &Task, arrived: bool) -> u64 {
    let (address, known) = task.identity.get();
    if address == task.object.get() && !arrived {
        return known;
    }
    let identity = of(object(task));
    task.identity.set((task.object.get(), identity));
    identity
}

/// The address of the object of a task's next operation. Accesses to the same eight bytes depend on each
/// other, whatever part of them they touch.
pub(crate) fn object(task: &Task) -> u64 {
    use traces::Operation as O;
    match task.operation.get() {
        O::Read | O::Write | O::Update | O::Await => task.object.get() & !7,
        _ => task.object.get(),
    }
}
