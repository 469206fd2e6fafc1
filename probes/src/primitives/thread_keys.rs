//! Thread-local destructors and keys.
//!
//! glibc stores the values, in each task's own block. The runtime stores only the destructors, to
//! run them at the end of a fiber, of which glibc does not know.

use crate::instrument::binary::keys::{self, KEYS};
use crate::state::task::Task;
use crate::state::world::{on_fiber, world};
use crate::sys::interpose::interpose;
use crate::sys::real::real;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// How many rounds of destructors run while they leave values behind (POSIX).
const ROUNDS: usize = 4;

struct Destructors {
    noted: [Cell<u64>; KEYS],
    /// No key from this number on has a destructor: keys are few, and the end of every thread scans
    /// them.
    end: Cell<usize>,
}
// SAFETY: the fields are `Cell`s, which hand out no references to their contents, and the
// controlled process has one kernel thread.
unsafe impl Sync for Destructors {}
static DESTRUCTORS: Destructors =
    Destructors { noted: [const { Cell::new(0) }; KEYS], end: Cell::new(0) };

fn note(key: u32, destructor: u64) {
    if let Some(noted) = DESTRUCTORS.noted.get(key as usize) {
        noted.set(destructor);
        if destructor != 0 {
            DESTRUCTORS.end.set(DESTRUCTORS.end.get().max(key as usize + 1));
        }
    }
}

fn noted() -> &'static [Cell<u64>] {
    &DESTRUCTORS.noted[..DESTRUCTORS.end.get()]
}

/// What is known about all keys: their destructors and their creators.
pub(crate) struct Saved {
    destructors: Vec<u64>,
    creators: Vec<u16>,
}

pub(crate) fn save() -> Saved {
    Saved { destructors: noted().iter().map(Cell::get).collect(), creators: keys::save() }
}

/// Restores what [`save`] returned.
pub(crate) fn restore(saved: &Saved) {
    for (key, noted) in noted().iter().enumerate() {
        noted.set(saved.destructors.get(key).copied().unwrap_or(0));
    }
    DESTRUCTORS.end.set(saved.destructors.len());
    keys::restore(&saved.creators);
}

/// A destructor registered with `__cxa_thread_atexit_impl`, in the program's heap.
#[repr(C)]
struct Node {
    function: u64,
    object: u64,
    next: u64,
}

/// The list of the registering thread: a fiber's while one runs, before that main's.
fn list() -> &'static Cell<u64> {
    let world = world();
    if on_fiber() { &world.task().destructors } else { &world.tasks[0].destructors }
}

/// Runs the destructors of a task's thread-local objects, last registered first.
pub(crate) fn run_thread_destructors(task: &Task) {
    while task.destructors.get() != 0 {
        let node = task.destructors.get() as *mut Node;
        // SAFETY: `__cxa_thread_atexit_impl` below made the node, with a function of this type. It
        // is removed from the list before it is freed and before the function runs.
        unsafe {
            let Node { function, object, next } = node.read();
            task.destructors.set(next);
            crate::memory::arena::free(node.cast());
            let function: extern "C-unwind" fn(u64) = std::mem::transmute(function);
            function(object);
        }
    }
}

/// Runs the destructors of the running task's keys.
pub(crate) fn run_key_destructors() {
    for _ in 0..ROUNDS {
        let mut ran = false;
        for (key, destructor) in noted().iter().enumerate() {
            let destructor = destructor.get();
            if destructor == 0 {
                continue;
            }
            // SAFETY: the real functions, with a key that exists; the program registered the
            // destructor for this key's values, with this type.
            unsafe {
                let value = real!(pthread_getspecific(key as u32) as fn(u32) -> u64);
                if value != 0 {
                    ran = true;
                    real!(pthread_setspecific(key as u32, 0) as fn(u32, u64) -> c_int);
                    let destructor: extern "C-unwind" fn(u64) = std::mem::transmute(destructor);
                    destructor(value);
                }
            }
        }
        if !ran {
            return;
        }
    }
}

interpose! {
    fn pthread_key_create(key: *mut u32, destructor: u64) -> c_int {
        unsafe {
            let error = real!(pthread_key_create(key, destructor) as fn(*mut u32, u64) -> c_int);
            if error == 0 {
                note(*key, destructor);
                keys::create(*key);
            }
            error
        }
    }

    fn pthread_key_delete(key: u32) -> c_int {
        note(key, 0);
        unsafe { real!(pthread_key_delete(key) as fn(u32) -> c_int) }
    }

    fn tss_create(key: *mut u32, destructor: u64) -> c_int {
        unsafe {
            let error = real!(tss_create(key, destructor) as fn(*mut u32, u64) -> c_int);
            if error == 0 {
                note(*key, destructor);
                keys::create(*key);
            }
            error
        }
    }

    fn tss_delete(key: u32) -> () {
        note(key, 0);
        unsafe { real!(tss_delete(key) as fn(u32) -> ()) }
    }

    fn __cxa_thread_atexit_impl(function: u64, object: u64, module: *mut c_void) -> c_int {
        if !crate::sys::channel::attached() && !crate::sys::copies::is_copy() {
            return unsafe { real!(__cxa_thread_atexit_impl(function, object, module)
                as fn(u64, u64, *mut c_void) -> c_int) };
        }
        let list = list();
        let node = crate::memory::arena::allocate(size_of::<Node>(), 16, 0).cast::<Node>();
        // SAFETY: the block is new, of this size and alignment, and nothing else points to it.
        unsafe { node.write(Node { function, object, next: list.get() }) };
        list.set(node as u64);
        0
    }
}
