//! How control is taken: as a library that is initialised before all others, and in place of the
//! call that starts `main`.

use crate::begin;
use crate::block;
use crate::channel;
use crate::fiber;
use crate::manager;
use crate::models::{exit, random, thread};
use crate::raw;
use crate::real::real;
use crate::task::{Gate, Life};
use crate::vdso;
use crate::world::{Stage, world};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use traces::wire::{ENV_CHANNEL, ENV_SAVED};

type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// The program's own main, and where the runtime's text lies.
struct Program {
    main: Cell<Option<Main>>,
    text: Cell<(u64, u64)>,
    /// The runtime's own variables: `[start, end)`.
    data: Cell<(u64, u64)>,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Program {}
static PROGRAM: Program =
    Program { main: Cell::new(None), text: Cell::new((0, 0)), data: Cell::new((0, 0)) };

/// Start and length of this library's code.
pub(crate) fn own_text() -> (u64, u64) {
    PROGRAM.text.get()
}

/// Where this library's variables lie.
pub(crate) fn own_data() -> (u64, u64) {
    PROGRAM.data.get()
}

/// Runs first of all initialisers (the library is linked with `-z initfirst`).
#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISE: extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) = initialise;

extern "C" fn initialise(_: c_int, _: *mut *mut c_char, environment: *mut *mut c_char) {
    // SAFETY: the loader gives a proper environment.
    unsafe {
        if let Some(descriptor) = take_back(environment)
            && let Err(message) = channel::attach(descriptor)
        {
            channel::fail(&message);
        }
    }
}

/// Takes Heddle's variables out of the environment, gives those it changed their old values back,
/// and returns the channel's descriptor.
unsafe fn take_back(environment: *mut *mut c_char) -> Option<i32> {
    let mut descriptor = None;
    let mut to = environment;
    let mut from = environment;
    // SAFETY: an array of strings that ends in a null pointer.
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
            if ENV_SAVED.iter().any(|(name, _)| value_of(entry, name).is_some()) {
                continue; // set for the loader; what was there before follows under another name
            }
            let saved = ENV_SAVED
                .iter()
                .find_map(|(name, saved)| value_of(entry, saved).map(|value| (name, value)));
            if let Some((name, value)) = saved {
                // `HEDDLE_SAVED_X=value` becomes `X=value`, in place: the names end alike in size
                // or are shorter, so the text fits in front of the value.
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
unsafe fn value_of<'a>(entry: *const c_char, name: &str) -> Option<&'a CStr> {
    // SAFETY: a string that ends in a zero byte.
    unsafe {
        let text = CStr::from_ptr(entry).to_bytes();
        (text.len() > name.len() && text.starts_with(name.as_bytes()) && text[name.len()] == b'=')
            .then(|| CStr::from_ptr(entry.add(name.len() + 1)))
    }
}

/// In place of the C library's: the program's main is called under control.
///
/// # Safety
/// Called by the program's start code.
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
        // The libraries' destructors run from our `exit`, on the task that calls it.
        exit::set_loader_destructors(rtld_fini as u64);
        (controlled_main as Main, std::ptr::null_mut())
    } else {
        (main, rtld_fini)
    };
    // SAFETY: the arguments are the program's own.
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
    if !begin::is_later() {
        take_control();
    }
    let world = world();
    let main = PROGRAM.main.get().map_or(std::ptr::null(), |main| main as *const ());
    // SAFETY: the program's main with its own arguments.
    let status =
        unsafe { fiber::heddle_call_main(world.tasks[0].base.as_ptr(), main, argc, argv, envp) };
    begin::main_returned();
    exit::program_returned(status)
}

/// Makes the calling thread main's fiber. Constructors have run by now, as in any process.
pub(crate) fn take_control() {
    begin::note_descriptors();
    if let Err(message) = prepare() {
        channel::fail(&message);
    }
    manager::begin();
}

fn prepare() -> Result<(), String> {
    find_text()?;
    const HWCAP2_FSGSBASE: u64 = 2;
    // SAFETY: reads the auxiliary vector.
    if unsafe { libc::getauxval(libc::AT_HWCAP2) } & HWCAP2_FSGSBASE == 0 {
        return Err("the kernel does not let programs set their thread pointer (FSGSBASE); \
                    Linux 5.9 or later is needed"
            .into());
    }
    vdso::silence()?;
    block::learn()?;
    become_threaded()?;
    crate::backtrace::wake();
    let world = world();
    let main = &world.tasks[0];
    let block = fiber::thread_pointer();
    main.block.set(block);
    main.set_life(Life::Alive);
    main.set_gate(Gate::Open);
    main.word.set(traces::enabled::word(traces::TaskId::MAIN));
    main.stack.set(main_stack());
    main.start.set(PROGRAM.main.get().map_or(0, |main| main as *const () as u64));
    world.first_tid.set(block::tid(block));
    world.created.set(1);
    world.born(0);
    world.current.set(0);
    world.running.set(Some(0));
    world.stage.set(Stage::Manager);
    thread::name_main();
    thread::prepare_spares();
    random::settle_start();
    Ok(())
}

/// Lets the C library become multithreaded as it does itself: a first thread that ends at once. It
/// has flags for that in several places, some hidden (locks of streams, `__libc_single_threaded` in
/// each copy, its own fast paths), and this sets them all in every version. From here on there is
/// one kernel thread again, for good.
fn become_threaded() -> Result<(), String> {
    extern "C-unwind" fn nothing(_: *mut c_void) -> *mut c_void {
        std::ptr::null_mut()
    }
    type Routine = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
    let mut thread = 0u64;
    // SAFETY: the real functions, with valid arguments.
    let error =
        real!(pthread_create(&raw mut thread, std::ptr::null(), nothing, std::ptr::null_mut())
            as fn(*mut u64, *const c_void, Routine, *mut c_void) -> c_int);
    if error != 0 {
        return Err(format!("the system lets no thread be made (error {error})"));
    }
    real!(pthread_join(thread, std::ptr::null_mut()) as fn(u64, *mut *mut c_void) -> c_int);
    Ok(())
}

/// How far main's stack may grow where its limit says more, or there is none (`ulimit -s unlimited`): a
/// recursion without end is to run off it before it has taken all the memory of the machine.
const MAIN_STACK: u64 = 1 << 30;

fn main_stack() -> crate::stacks::Stack {
    let mut high = 0u64;
    // SAFETY: exported by the loader: the end of the first stack.
    unsafe {
        let end = libc::dlsym(libc::RTLD_DEFAULT, c"__libc_stack_end".as_ptr()).cast::<u64>();
        if !end.is_null() {
            high = (*end).next_multiple_of(4096);
        }
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills in the limit; then sets a lower one.
    unsafe {
        raw::call!(libc::SYS_prlimit64, 0, libc::RLIMIT_STACK, 0, &raw mut limit);
        if limit.rlim_cur > MAIN_STACK {
            limit.rlim_cur = MAIN_STACK;
            raw::call!(libc::SYS_prlimit64, 0, libc::RLIMIT_STACK, &raw const limit, 0);
        }
    }
    let size = limit.rlim_cur.max(1 << 20);
    crate::stacks::Stack { low: high.saturating_sub(size), high, guard: 0, foreign: true }
}

/// Finds this library's executable segment by its program headers.
fn find_text() -> Result<(), String> {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        let me = find_text as *const () as u64;
        // SAFETY: the loader's tables, and our own pair of words.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
            let start = |header: &libc::Elf64_Phdr| (*info).dlpi_addr + header.p_vaddr;
            let Some(text) = loads().find(|header| {
                let start = start(header);
                header.p_flags & libc::PF_X != 0 && (start..start + header.p_memsz).contains(&me)
            }) else {
                return 0;
            };
            let data = loads().filter(|header| header.p_flags & libc::PF_W != 0);
            let data = data.fold((u64::MAX, 0), |(low, high), header| {
                let end = (start(header) + header.p_memsz).next_multiple_of(4096);
                (low.min(start(header) & !4095), high.max(end))
            });
            *found.cast::<[(u64, u64); 2]>() = [(start(text), text.p_memsz), data];
            1
        }
    }
    let mut found = [(0u64, 0u64); 2];
    // SAFETY: the callback writes the two pairs.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut found).cast());
    }
    if found[0].1 == 0 {
        return Err("the runtime cannot find its own code".into());
    }
    PROGRAM.text.set(found[0]);
    PROGRAM.data.set(found[1]);
    Ok(())
}

/// The site of what main's return does: sites are return addresses, so one past main's first byte
/// means main itself.
pub(crate) fn program_main() -> u64 {
    PROGRAM.main.get().map_or(0, |main| main as *const () as u64 + 1)
}
