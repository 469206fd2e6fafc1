//! How the runtime takes control: its initialiser runs before those of all other libraries, and it
//! interposes `__libc_start_main`, which starts `main`.

use crate::entry::creation;
use crate::entry::start_point;
use crate::executions::manager;
use crate::fiber::switch;
use crate::instrument::binary::open_files;
use crate::kernel::{captured_output, changed_files, direct_transfers, exit, random};
use crate::memory::thread_block;
use crate::primitives::{cancel, spare_threads, thread};
use crate::state::stacks;
use crate::state::start;
use crate::state::task::{Gate, Lifecycle};
use crate::state::world::{Stage, world};
use crate::sys::channel;
use crate::sys::own_image;
use crate::sys::raw;
use crate::sys::real::{self, real};
use crate::sys::vdso;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use traces::wire::{ENV_CHANNEL, ENV_PADDING, ENV_SAVED};

type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// The program's `main`.
struct Program {
    main: Cell<Option<Main>>,
}
// SAFETY: the field is a `Cell`, which hands out no references. It is written by
// `__libc_start_main`, when the process has one thread that runs runtime code, and later only read.
unsafe impl Sync for Program {}
static PROGRAM: Program = Program { main: Cell::new(None) };

/// Runs before all other initialisers (the library is linked with `-z initfirst`).
#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISE: extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) = initialise;

extern "C" fn initialise(_: c_int, _: *mut *mut c_char, environment: *mut *mut c_char) {
    // SAFETY: the loader calls initialisers with the process's environment, an array of C strings
    // that ends in a null pointer, and no other thread exists yet.
    unsafe {
        if let Some(descriptor) = take_back(environment)
            && let Err(message) = channel::attach(descriptor)
        {
            channel::fail_to_attach(descriptor, &message);
        }
    }
    if channel::attached() {
        captured_output::note_given();
    }
}

/// Removes Heddle's variables from the environment, restores the original values of those that
/// Heddle changed, and returns the channel's descriptor.
///
/// # Safety
/// `environment` is the process's environment array: valid C strings, then a null pointer. No other
/// thread reads or writes it meanwhile.
unsafe fn take_back(environment: *mut *mut c_char) -> Option<i32> {
    let mut descriptor = None;
    let mut to = environment;
    let mut from = environment;
    // SAFETY: the caller guarantees a null-terminated array of C strings. `to` never passes `from`,
    // so every write stays in the array.
    unsafe {
        let has_channel = {
            let mut at = environment;
            while !(*at).is_null() && value_of(*at, ENV_CHANNEL).is_none() {
                at = at.add(1);
            }
            !(*at).is_null()
        };
        if !has_channel {
            return None;
        }
        while !(*from).is_null() {
            let entry = *from;
            from = from.add(1);
            if let Some(value) = value_of(entry, ENV_CHANNEL) {
                descriptor = value.to_str().ok().and_then(|value| value.parse().ok());
                continue;
            }
            if value_of(entry, ENV_PADDING).is_some() {
                continue;
            }
            if ENV_SAVED.iter().any(|(name, _)| value_of(entry, name).is_some()) {
                continue; // set for the loader; the original value follows under another name
            }
            let saved = ENV_SAVED
                .iter()
                .find_map(|(name, saved)| value_of(entry, saved).map(|value| (name, value)));
            if let Some((name, value)) = saved {
                // `HEDDLE_SAVED_X=value` becomes `X=value`, in place: `X=` is shorter than the
                // prefix, so the text fits in front of the value.
                let start = value.as_ptr().cast_mut().sub(name.len() + 1);
                std::ptr::copy_nonoverlapping(name.as_ptr(), start.cast(), name.len());
                *to = start;
            } else {
                *to = entry;
            }
            to = to.add(1);
        }
        *to = std::ptr::null_mut();
    }
    descriptor
}

/// The value, if `entry` is `name=value`.
///
/// # Safety
/// `entry` is a C string that stays valid and unchanged for `'a`.
unsafe fn value_of<'a>(entry: *const c_char, name: &str) -> Option<&'a CStr> {
    // SAFETY: the caller guarantees a C string; the offset is within it, as it starts with `name=`.
    unsafe {
        let text = CStr::from_ptr(entry).to_bytes();
        (text.len() > name.len() && text.starts_with(name.as_bytes()) && text[name.len()] == b'=')
            .then(|| CStr::from_ptr(entry.add(name.len() + 1)))
    }
}

/// Interposed C library function: calls the program's `main` under the runtime's control.
///
/// # Safety
/// Called by the program's start code, with the arguments that code gives the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __libc_start_main(
    main: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: *mut c_void,
    fini: *mut c_void,
    rtld_fini: *mut c_void,
    stack_end: *mut c_void,
) -> c_int {
    PROGRAM.main.set(Some(main));
    let (start, rtld_fini) = if channel::attached() {
        // The runtime's `exit` runs the libraries' destructors, on the task that calls it.
        exit::set_loader_destructors(rtld_fini as u64);
        // SAFETY: only the program's start code and this function are active, which store no guard.
        unsafe { random::settle_stack_guard() };
        (controlled_main as Main, std::ptr::null_mut())
    } else {
        (main, rtld_fini)
    };
    // SAFETY: the arguments are those of the program's start code; only `main` is replaced, by a
    // function of the same type.
    real!(__libc_start_main(start, argc, argv, init, fini, rtld_fini, stack_end)
        as fn(
            Main,
            c_int,
            *mut *mut c_char,
            *mut c_void,
            *mut c_void,
            *mut c_void,
            *mut c_void,
        ) -> c_int)
}

unsafe extern "C-unwind" fn controlled_main(
    argc: c_int,
    argv: *mut *mut c_char,
    envp: *mut *mut c_char,
) -> c_int {
    if !start_point::is_later() {
        take_control();
    }
    let world = world();
    let main = PROGRAM.main.get().map_or(std::ptr::null(), |main| main as *const ());
    // SAFETY: `main` is the program's function, called with the arguments that the C library
    // passed; the slot for the frame's base is main's own.
    let status =
        unsafe { switch::heddle_call_main(world.tasks[0].base.as_ptr(), main, argc, argv, envp) };
    start_point::main_returned();
    exit::program_returned(status, program_main())
}

/// A program may call this function: executions then begin at its first call instead of at `main`.
#[unsafe(no_mangle)]
extern "C-unwind" fn heddle_begin() {
    if start::set_awaited(false) {
        take_control();
    }
}

/// Makes the calling thread main's fiber. The program's constructors ran before, as in any process.
pub(crate) fn take_control() {
    captured_output::prepare();
    start::note_descriptors();
    open_files::prepare();
    random::prepare();
    changed_files::begin();
    if let Err(message) = prepare() {
        channel::fail(&message);
    }
    manager::begin();
}

fn prepare() -> Result<(), String> {
    own_image::find()?;
    const HWCAP2_FSGSBASE: u64 = 2;
    // SAFETY: `getauxval` only reads the auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_HWCAP2) } & HWCAP2_FSGSBASE == 0 {
        return Err("the kernel does not let programs set their thread pointer (FSGSBASE); \
                    Linux 5.9 or later is needed"
            .into());
    }
    vdso::silence()?;
    crate::memory::arena::for_runtime(real::find_all);
    thread_block::learn()?;
    cancel::find_inner_points();
    direct_transfers::prepare();
    become_threaded()?;
    creation::redirect()?;
    crate::fiber::backtrace::wake();
    let world = world();
    let main = &world.tasks[0];
    let block = switch::thread_pointer();
    main.block.set(block);
    main.set_life(Lifecycle::Alive);
    main.set_gate(Gate::Open);
    main.word.set(traces::enabled::word(traces::TaskId::MAIN));
    main.stack.set(main_stack());
    main.start.set(PROGRAM.main.get().map_or(0, |main| main as *const () as u64));
    world.first_tid.set(thread_block::tid(block));
    world.created.set(1);
    world.born(0);
    world.current.set(0);
    world.running.set(Some(0));
    world.stage.set(Stage::Manager);
    stacks::find_protection();
    thread::name_main();
    spare_threads::prepare();
    random::settle_start();
    Ok(())
}

/// Makes the C library multithreaded by its own means: starts and joins one real thread, which
/// returns at once. glibc has flags for "this process has threads" in several places, some of them
/// hidden (locks of streams, `__libc_single_threaded` in each copy, internal fast paths), and this
/// sets all of them in every version. Afterwards the process has one kernel thread until it ends.
fn become_threaded() -> Result<(), String> {
    extern "C-unwind" fn nothing(_: *mut c_void) -> *mut c_void {
        std::ptr::null_mut()
    }
    type Routine = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
    let mut thread = 0u64;
    // SAFETY: the real functions, with a valid place for the thread's id, default attributes and a
    // routine that touches nothing.
    let error =
        real!(pthread_create(&raw mut thread, std::ptr::null(), nothing, std::ptr::null_mut())
            as fn(*mut u64, *const c_void, Routine, *mut c_void) -> c_int);
    if error == libc::EAGAIN {
        return Err(
            "cannot start a thread: there are too many processes; use fewer --workers, or \
                    raise the limit (ulimit -u, or that of the control group)"
                .into(),
        );
    }
    if error != 0 {
        return Err(format!("cannot start a thread (error {error})"));
    }
    real!(pthread_join(thread, std::ptr::null_mut()) as fn(u64, *mut *mut c_void) -> c_int);
    Ok(())
}

/// The most that main's stack may grow if its limit is higher or absent (`ulimit -s unlimited`), so
/// that an endless recursion overflows the stack before it takes all memory of the machine.
const MAIN_STACK: u64 = 1 << 30;

fn main_stack() -> crate::state::stack::Stack {
    let mut high = 0u64;
    // SAFETY: the loader exports `__libc_stack_end` as a word: the end of the first stack.
    unsafe {
        let end = libc::dlsym(libc::RTLD_DEFAULT, c"__libc_stack_end".as_ptr()).cast::<u64>();
        if !end.is_null() {
            high = (*end).next_multiple_of(4096);
        }
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel reads and writes only the local `limit`.
    unsafe {
        raw::call!(libc::SYS_prlimit64, 0, libc::RLIMIT_STACK, 0, &raw mut limit);
        if limit.rlim_cur > MAIN_STACK {
            limit.rlim_cur = MAIN_STACK;
            raw::call!(libc::SYS_prlimit64, 0, libc::RLIMIT_STACK, &raw const limit, 0);
        }
    }
    let size = limit.rlim_cur.max(1 << 20);
    let end = stacks::end_of_first().max(high);
    crate::state::stack::Stack { low: end.saturating_sub(size), high, guard: 0, foreign: true }
}

/// The site of operations that follow main's return. Sites are return addresses, so the byte after
/// main's first one means `main` itself.
fn program_main() -> u64 {
    PROGRAM.main.get().map_or(0, |main| main as *const () as u64 + 1)
}
