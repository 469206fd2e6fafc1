//! The library functions that user code called, as the frames of a site name them: an update of a
//! word inside `Mutex::lock` belongs to that call.
//!
//! The frames of a site are those of user code, then those of the library that user code called,
//! the called function last (`control/capture.rs`).

use crate::symbols::{is_library_frame, is_user_frame};
use std::collections::HashMap;
use traces::{Execution, Frame, Operation, Site, TaskStack, WaitEdge};

/// A call of a library function by user code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryCall {
    /// The function: `Mutex::lock`, `spawn`; of a destructor the type: `drop Arc`. Empty for an
    /// operator of C++: users do not write its name.
    pub function: String,
    /// The operation of the threads library that is the same, if there is one.
    pub operation: Option<Operation>,
    /// Whether the site calls the function of Rust's library that waits for a mutex, which is not inlined.
    pub waits_for_lock: bool,
    /// Whether the function is one atomic operation: several steps of it are several calls.
    pub is_atomic: bool,
    /// What a task waits for inside the function, if that is no object of the program.
    pub awaits: Option<&'static str>,
    pub(super) lock: Option<LockCall>,
}

/// How a word represents a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// A futex: 0 is free, 1 locked, 2 locked and awaited.
    Mutex,
    /// A futex: the lower 30 bits are the number of readers, all of them set for a writer.
    RwLock,
    /// A byte, as in `parking_lot`: bit 0 is set while it is locked.
    SmallMutex,
    /// A word, as in `parking_lot`: bit 3 for a writer, which waits while there are readers, and the number
    /// of readers from bit 4 on.
    SmallRwLock,
    /// A flag, as in `spin`: not 0 while it is locked.
    Flag,
    /// A word, as in `spin`: bit 0 for a writer, bit 1 for a reader that may become one, the number of readers
    /// from bit 2 on.
    SpinRwLock,
    /// A futex of a routine that runs once: 1 in the lower bits while it runs.
    Once,
}

/// A site inside a function of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LockCall {
    /// How the lock's word represents its state.
    pub(super) protocol: Protocol,
    /// Whether the function acquires the lock.
    pub(super) acquires: bool,
    /// Whether the site itself accesses the lock's word. Otherwise it calls code that may also
    /// access other words, such as the queue of waiting threads.
    pub(super) accesses: bool,
}

/// What the frames of a site say about libraries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SiteCall {
    /// User code called a function of a library.
    Call(LibraryCall),
    /// No frame is in user code: something that the library does on its own.
    Internal,
}

/// What the frames of each site say; sites of user code alone are not contained.
#[must_use]
pub fn of_sites(execution: &Execution) -> HashMap<Site, SiteCall> {
    let places = execution.places.iter();
    places.filter_map(|(site, frames)| Some((*site, of_frames(frames)?))).collect()
}

/// What the frames of a site say.
#[must_use]
pub fn of_site(execution: &Execution, site: Site) -> Option<SiteCall> {
    let (_, frames) = execution.places.iter().find(|(known, _)| *known == site)?;
    of_frames(frames)
}

/// The last earlier step of the same task in user code, if no frame of a step is in user code: a
/// function whose last action is a call may have left the stack.
#[must_use]
pub fn last_own_step(execution: &Execution, step: usize) -> Option<usize> {
    let at = execution.steps.get(step)?;
    if !is_internal(execution, at.site) {
        return None;
    }
    let earlier = execution.steps[step.saturating_sub(FARTHEST)..step].iter().rev();
    let mut own = earlier.enumerate().filter(|(_, it)| it.task == at.task);
    let (back, _) = own.find(|(_, it)| {
        it.operation != Operation::Start
            && has_place(execution, it.site)
            && !is_internal(execution, it.site)
    })?;
    Some(step - 1 - back)
}

/// The most steps to look back.
const FARTHEST: usize = 200;

fn is_internal(execution: &Execution, site: Site) -> bool {
    of_site(execution, site) == Some(SiteCall::Internal)
}

fn has_place(execution: &Execution, site: Site) -> bool {
    execution.places.iter().any(|(known, frames)| {
        *known == site && frames.first().is_some_and(|frame| !frame.file.is_empty())
    })
}

fn of_frames(frames: &[Frame]) -> Option<SiteCall> {
    if frames.first().is_some_and(is_library_frame) {
        return Some(SiteCall::Internal);
    }
    // The last frame of user code is a function in the executable, inlined into none.
    let own = frames.iter().position(|frame| !frame.inlined)? + 1;
    let library: Vec<(&str, &str, &str)> = frames[own..]
        .iter()
        .filter_map(|frame| {
            let (name, method) = name_and_method(&frame.function)?;
            Some((frame.function.as_str(), name, method))
        })
        .collect();
    let &(_, name, method) = library.last()?;
    let mut known = library.iter().filter_map(|&(path, name, method)| known(path, name, method));
    let is_atomic = library.iter().all(|(path, ..)| of_atomics(path));
    let accesses = library.first().is_some_and(|(path, ..)| of_atomics(path));
    // A wait for a condition releases its mutex inside the library.
    let lock = known.clone().find_map(|(operation, protocol)| {
        let protocol = protocol?;
        let standard = matches!(protocol, Protocol::Mutex | Protocol::RwLock | Protocol::Once);
        let accesses = accesses || standard;
        let acquires = acquires(operation) || protocol == Protocol::Once;
        Some(LockCall { protocol, acquires, accesses })
    });
    let known = known.next_back().map(|(operation, _)| operation);
    // Of destructors that call each other, the innermost belongs to the library's type.
    let dropped = || {
        let drops = library.iter().filter(|(_, _, method)| *method == "drop");
        drops.clone().next().map_or(name, |(_, name, _)| *name)
    };
    let function = match method {
        "drop" => format!("drop {}", dropped()),
        _ if is_operator(method) => String::new(),
        // A type; modules say little.
        _ if name.starts_with(char::is_uppercase) => format!("{name}::{method}"),
        _ => method.to_owned(),
    };
    let stores = library.iter().any(|(_, _, method)| *method == "store");
    let stored = (is_atomic && stores).then_some(Operation::Write);
    let operation = known.or(stored);
    let waits_for_lock =
        operation == Some(Operation::Lock) && !library.iter().any(|(path, ..)| of_atomics(path));
    let awaits =
        library.iter().rev().find_map(|&(path, name, method)| awaited_by(path, name, method));
    let call = LibraryCall { function, operation, waits_for_lock, is_atomic, awaits, lock };
    Some(SiteCall::Call(call))
}

/// What a blocked task waits for, if that follows from the library function that it called, and the
/// awaited object belongs to the library. `stacks` are those at the end of the execution.
#[must_use]
pub fn awaited(
    execution: &Execution,
    stacks: &[TaskStack],
    wait: &WaitEdge,
) -> Option<&'static str> {
    let called = match wait.site.and_then(|site| of_site(execution, site)) {
        Some(SiteCall::Call(call)) => call.awaits,
        _ => None,
    };
    let stack = || {
        let stack = stacks.iter().find(|stack| stack.task == wait.task)?;
        awaited_in(&stack.frames)
    };
    let proxy = || {
        let object = execution.objects.get(wait.object? as usize)?;
        object.name.starts_with(WAITERS).then_some("a change of an atomic object")
    };
    called.or_else(stack).or_else(proxy)
}

/// Where C++'s library counts those that wait for an atomic object which is no futex. Several objects
/// share a counter.
const WAITERS: &str = "std::__detail::__waiter_pool_base::";

/// What a task with this stack waits for: the function of the library that user code called says it, and
/// in a thread of a library the functions of that.
fn awaited_in(frames: &[Frame]) -> Option<&'static str> {
    let own = frames.iter().position(is_user_frame);
    let library = frames[..own.unwrap_or(frames.len())].iter().rev();
    let mut named = library.clone().filter_map(|frame| {
        let (name, method) = name_and_method(&frame.function)?;
        awaited_by(&frame.function, name, method)
    });
    let worker = || library.clone().find_map(|frame| awaited_by_worker(&frame.function));
    // Between two functions that say something, the caller's is what the user knows.
    named.next().or_else(|| own.is_none().then(worker)?)
}

/// What an idle thread of a library waits for in this function of the library.
fn awaited_by_worker(path: &str) -> Option<&'static str> {
    if is_of_crate(path, "tokio") && path.contains("::runtime::") {
        return Some("a task of the runtime to run");
    }
    is_of_crate(path, "rayon_core").then_some("a job of its thread pool")
}

/// Whether what [`awaited`] answered is that other threads come or end.
#[must_use]
pub fn is_for_threads(what: &str) -> bool {
    [SCOPE, BARRIER].contains(&what)
}

const SCOPE: &str = "the threads of its scope";
const BARRIER: &str = "the other threads of a barrier";

/// What the functions of libraries wait for whose futexes users never see: that of a thread's parker, of a
/// barrier's condition variable.
fn awaited_by(path: &str, name: &str, method: &str) -> Option<&'static str> {
    if is_of_crate(path, "tokio") {
        return Some(match (name, method) {
            ("Mutex", "blocking_lock" | "blocking_lock_owned") => "a mutex of tokio",
            ("RwLock", "blocking_read" | "blocking_write") => "a read-write lock of tokio",
            ("Receiver" | "UnboundedReceiver", "blocking_recv") => "a message",
            ("Sender", "blocking_send") => "room in a channel",
            ("Runtime" | "Handle" | "LocalSet", "block_on") => "the future of block_on",
            _ => return None,
        });
    }
    if is_of_crate(path, "crossbeam_channel") {
        return Some(match (name, method) {
            ("Receiver", "recv" | "recv_timeout" | "recv_deadline") => "a message",
            ("Sender", "send" | "send_timeout" | "send_deadline") => "room in a channel",
            (
                "Select" | "select",
                "select" | "select_timeout" | "select_deadline" | "ready" | "ready_timeout"
                | "ready_deadline",
            ) => "an operation of a select",
            _ => return None,
        });
    }
    if is_of_crate(path, "crossbeam_utils") {
        return Some(match (name, method) {
            ("WaitGroup", "wait") => "the other threads of a wait group",
            ("Parker", "park" | "park_timeout" | "park_deadline") => "an unpark",
            ("thread", "scope") => SCOPE,
            _ => return None,
        });
    }
    // C++.
    if path.starts_with("std::") && path.contains('<') {
        match (name, method) {
            ("barrier", "wait" | "arrive_and_wait") => return Some(BARRIER),
            ("future" | "shared_future" | "__basic_future", "get" | "wait") => {
                return Some("the result of a future");
            }
            _ => {}
        }
    }
    if !path.contains("std::thread::") && !path.contains("std::sync::") {
        return None;
    }
    Some(match (name, method) {
        ("scoped", "scope") => SCOPE,
        ("functions" | "thread" | "current", "park" | "park_timeout" | "park_timeout_ms") => {
            "an unpark"
        }
        ("Receiver", "recv" | "recv_timeout" | "recv_deadline") => "a message",
        ("SyncSender" | "Sender", "send" | "send_timeout" | "send_deadline") => "room in a channel",
        ("Barrier", "wait") => BARRIER,
        _ => return None,
    })
}

/// Whether a function is one of an atomic type, of Rust or of C++ (`std::__atomic_base<int>`).
fn of_atomics(path: &str) -> bool {
    path.contains("::atomic") || path.contains("::__atomic_")
}

/// Whether a method is an operator of C++: `operator=`, `operator bool`.
fn is_operator(method: &str) -> bool {
    let rest = method.strip_prefix("operator");
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

/// Whether an operation acquires a lock, or a share of it.
#[must_use]
pub fn acquires(operation: Operation) -> bool {
    operation.acquires_lock() || operation.is_shared_lock()
}

/// The functions of Rust's standard library and of `parking_lot` that are operations of a threads
/// library.
fn known(path: &str, name: &str, method: &str) -> Option<(Operation, Option<Protocol>)> {
    use Operation as O;
    let standard = path.contains("std::sync::") || path.contains("std::sys::sync::");
    let small = path.contains("parking_lot") || path.contains("lock_api");
    let (mutex, rwlock) = match () {
        () if standard => (Protocol::Mutex, Protocol::RwLock),
        () if small => (Protocol::SmallMutex, Protocol::SmallRwLock),
        () if is_of_crate(path, "spin") => (Protocol::Flag, Protocol::SpinRwLock),
        () => return None,
    };
    let (operation, lock) = match (name, method) {
        ("Mutex" | "RawMutex" | "SpinMutex", "lock" | "lock_slow" | "lock_contended") => {
            (O::Lock, Some(mutex))
        }
        ("Mutex" | "RawMutex" | "SpinMutex", "try_lock") => (O::TryLock, Some(mutex)),
        ("Mutex" | "RawMutex", "unlock" | "unlock_slow")
        | ("MutexGuard" | "SpinMutexGuard", "drop") => (O::Unlock, Some(mutex)),
        ("RwLock", "read") | ("RawRwLock", "lock_shared" | "lock_shared_slow") => {
            (O::ReadLock, Some(rwlock))
        }
        ("RwLock", "try_read") | ("RawRwLock", "try_lock_shared") => (O::TryReadLock, Some(rwlock)),
        ("RwLock", "write") | ("RawRwLock", "lock_exclusive" | "lock_exclusive_slow") => {
            (O::WriteLock, Some(rwlock))
        }
        ("RwLock", "try_write") | ("RawRwLock", "try_lock_exclusive") => {
            (O::TryWriteLock, Some(rwlock))
        }
        ("RwLockReadGuard" | "RwLockWriteGuard", "drop")
        | ("RwLock", "read_unlock" | "write_unlock")
        | ("RawRwLock", "unlock_shared" | "unlock_exclusive") => (O::RwUnlock, Some(rwlock)),
        ("Once", "call_once" | "call_once_force" | "call")
        | ("OnceLock", "get_or_init" | "initialize")
            if standard =>
        {
            (O::Once, Some(Protocol::Once))
        }
        ("CompletionGuard", "drop") if standard => (O::Once, Some(Protocol::Once)),
        ("Condvar", "wait" | "wait_while") => (O::Wait, None),
        ("Condvar", "notify_one") => (O::Signal, None),
        ("Condvar", "notify_all") => (O::Broadcast, None),
        _ => return None,
    };
    Some((operation, lock))
}

/// Whether a function or its type belongs to a crate: `spin::mutex::Mutex<T>::lock`, `<spin::Once as a::B>::c`.
fn is_of_crate(path: &str, name: &str) -> bool {
    let inside = path.trim_start_matches(['<', '&']);
    inside.strip_prefix(name).is_some_and(|rest| rest.starts_with("::"))
        || path.contains(&format!("drop_in_place<{name}::"))
        || path.contains(&format!("drop_in_place::<{name}::"))
}

/// The type and the method of a demangled function, both without modules and type arguments:
/// `<std::sync::Arc<T> as core::clone::Clone>::clone` is `Arc` and `clone`.
fn name_and_method(function: &str) -> Option<(&str, &str)> {
    if let Some((_, inside)) = function.split_once("::drop_in_place") {
        let inside = inside.trim_start_matches("::").strip_prefix('<')?;
        return Some((last_segment(inside), "drop"));
    }
    if let Some(inside) = function.strip_prefix('<') {
        let end = closing(inside)?;
        let method = inside[end + 1..].strip_prefix("::")?;
        return Some((last_segment(&inside[..end]), without_arguments(method)));
    }
    let cut = |text: &str| -> Option<usize> {
        let mut depth = 0usize;
        let mut last = None;
        let bytes = text.as_bytes();
        for at in 0..bytes.len() {
            match bytes[at] {
                b'<' | b'(' => depth += 1,
                b'>' | b')' => depth = depth.saturating_sub(1),
                b':' if depth == 0 && bytes.get(at + 1) == Some(&b':') => {
                    // The type arguments of a function also follow two colons.
                    last = Some(at).filter(|_| bytes.get(at + 2) != Some(&b'<')).or(last);
                }
                _ => {}
            }
        }
        last
    };
    match cut(function) {
        Some(at) => {
            let method = without_arguments(&function[at + 2..]);
            let path = function[..at].trim_end_matches("::");
            Some((last_segment(path), method))
        }
        None => Some(("", without_arguments(function))),
    }
}

/// The position of the bracket that closes one that was opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1usize;
    text.bytes().position(|byte| {
        match byte {
            b'<' => depth += 1,
            b'>' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// The last name of a path, without type arguments; of `X as Y` that of `X`.
fn last_segment(path: &str) -> &str {
    // Of C++: `(anonymous namespace)::queue`.
    let path = path.rsplit_once(")::").map_or(path, |(_, own)| own);
    let end = path.find(['<', '>', ' ', ',']).unwrap_or(path.len());
    let path = path[..end].trim_end_matches("::");
    path.rsplit("::").next().unwrap_or(path)
}

fn without_arguments(method: &str) -> &str {
    let end = method.find(['<', '(']).unwrap_or(method.len());
    method[..end].trim_end_matches("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STD: &str = "/rustc/0123/library/std/src/x.rs";

    fn frame(function: &str, file: &str, inlined: bool) -> Frame {
        Frame { function: function.into(), file: file.into(), inlined, ..Frame::default() }
    }

    /// The call of these functions of the library, the innermost first.
    fn call(library: &[&str]) -> LibraryCall {
        let mut frames = vec![frame("app::add", "/src/app.rs", false)];
        frames.extend(library.iter().map(|name| frame(name, STD, true)));
        match of_frames(&frames) {
            Some(SiteCall::Call(call)) => call,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn functions_are_named_by_type_and_method() {
        for (function, wanted) in [
            ("std::sync::poison::mutex::Mutex<T>::lock", ("Mutex", "lock")),
            ("<std::sync::poison::mutex::Mutex<()>>::lock", ("Mutex", "lock")),
            ("<alloc::sync::Arc<T,A> as core::clone::Clone>::clone", ("Arc", "clone")),
            ("core::ptr::drop_in_place<alloc::sync::Arc<app::Bank>>", ("Arc", "drop")),
            ("core::ptr::drop_in_place::<alloc::sync::Arc<app::Bank>>", ("Arc", "drop")),
            ("core::sync::atomic::atomic_load::<usize>", ("atomic", "atomic_load")),
            ("std::thread::functions::spawn", ("functions", "spawn")),
            ("a::B<c::D<e>>::f::<g::H>", ("B", "f")),
            (
                "std::vector<int, std::allocator<int>>::push_back(int const&)",
                ("vector", "push_back"),
            ),
            ("std::queue<a::B>::push(std::string const&)", ("queue", "push")),
            ("(anonymous namespace)::queue::push(a::B)", ("queue", "push")),
            ("std::atomic<bool>::operator bool() const", ("atomic", "operator bool")),
            ("spawn", ("", "spawn")),
        ] {
            assert_eq!(name_and_method(function), Some(wanted), "{function}");
        }
    }

    #[test]
    fn what_user_code_called_is_the_outermost_function() {
        let lock = call(&[
            "core::sync::atomic::atomic_compare_exchange",
            "<core::sync::atomic::AtomicU32>::compare_exchange",
            "<std::sys::sync::mutex::futex::Mutex>::lock",
            "std::sync::poison::mutex::Mutex<T>::lock",
        ]);
        assert_eq!(
            (lock.function.as_str(), lock.operation),
            ("Mutex::lock", Some(Operation::Lock))
        );
        let of_mutex = |call: &LibraryCall| call.lock.map(|lock| (lock.protocol, lock.acquires));
        assert_eq!(of_mutex(&lock), Some((Protocol::Mutex, true)));
        let unlock = call(&[
            "<std::sync::poison::mutex::MutexGuard<T> as core::ops::drop::Drop>::drop",
            "core::ptr::drop_in_place<std::sync::poison::mutex::MutexGuard<i64>>",
        ]);
        assert_eq!(unlock.operation, Some(Operation::Unlock));
        assert_eq!(of_mutex(&unlock), Some((Protocol::Mutex, false)));
        let wait = call(&[
            "<core::sync::atomic::AtomicU32>::swap",
            "<std::sys::sync::mutex::futex::Mutex>::unlock",
            "<std::sys::sync::condvar::futex::Condvar>::wait",
            "std::sync::poison::condvar::Condvar::wait",
        ]);
        assert_eq!(wait.operation, Some(Operation::Wait));
        assert_eq!(of_mutex(&wait), Some((Protocol::Mutex, false)));
        let drop = call(&[
            "<core::sync::atomic::AtomicUsize>::fetch_sub",
            "<alloc::sync::Arc<T,A> as core::ops::drop::Drop>::drop",
            "core::ptr::drop_in_place<alloc::sync::Arc<app::Bank>>",
            "core::ptr::drop_in_place<app::main::{{closure}}>",
        ]);
        assert_eq!((drop.function.as_str(), drop.operation), ("drop Arc", None));
        let store =
            call(&["core::sync::atomic::atomic_store", "<core::sync::atomic::AtomicU32>::store"]);
        assert_eq!((store.operation, store.is_atomic), (Some(Operation::Write), true));
    }

    #[test]
    fn what_a_library_function_waits_for_is_no_object_of_the_program() {
        for (function, awaited) in [
            ("std::thread::scoped::scope", Some("the threads of its scope")),
            ("std::sync::barrier::Barrier::wait", Some("the other threads of a barrier")),
            ("std::thread::functions::park", Some("an unpark")),
            ("std::sync::mpsc::Receiver<T>::recv", Some("a message")),
            ("std::sync::mpsc::SyncSender<T>::send", Some("room in a channel")),
            ("tokio::sync::mutex::Mutex<T>::blocking_lock", Some("a mutex of tokio")),
            ("tokio::sync::rwlock::RwLock<T>::blocking_read", Some("a read-write lock of tokio")),
            ("tokio::runtime::runtime::Runtime::block_on", Some("the future of block_on")),
            ("crossbeam_channel::channel::Receiver<T>::recv", Some("a message")),
            ("crossbeam_channel::channel::Sender<T>::send", Some("room in a channel")),
            ("crossbeam_channel::select::Select::select", Some("an operation of a select")),
            ("crossbeam_utils::sync::parker::Parker::park", Some("an unpark")),
            (
                "crossbeam_utils::sync::wait_group::WaitGroup::wait",
                Some("the other threads of a wait group"),
            ),
            ("std::barrier<std::__empty_completion>::wait", Some("the other threads of a barrier")),
            ("std::future<int>::get()", Some("the result of a future")),
            ("std::__basic_future<int>::wait() const", Some("the result of a future")),
            ("std::sync::poison::condvar::Condvar::wait", None),
            ("app::scoped::scope", None),
        ] {
            assert_eq!(call(&[function]).awaits, awaited, "{function}");
        }
    }

    #[test]
    fn the_stack_of_a_task_says_what_it_waits_for_where_its_site_does_not() {
        let park = frame("std::thread::functions::park", STD, false);
        let receive = frame(
            "crossbeam_channel::channel::Receiver<T>::recv",
            "/home/x/.cargo/registry/src/index/crossbeam-channel-0.5.17/src/channel.rs",
            false,
        );
        let own = frame("app::add", "/src/app.rs", false);
        let outer = frame("std::thread::scoped::scope", STD, false);
        let stack = [park.clone(), receive, own, outer];
        assert_eq!(awaited_in(&stack), Some("a message"));
        assert_eq!(awaited_in(&stack[2..]), None);
        assert_eq!(awaited_in(&stack[..1]), Some("an unpark"));
        let worker = frame(
            "tokio::runtime::scheduler::multi_thread::worker::run",
            "/home/x/.cargo/registry/src/index/tokio-1.54.1/src/runtime/scheduler/worker.rs",
            false,
        );
        let condition = frame("std::sync::poison::condvar::Condvar::wait", STD, false);
        let idle = [condition.clone(), worker.clone()];
        assert_eq!(awaited_in(&idle), Some("a task of the runtime to run"));
        let path = "/home/x/.cargo/registry/src/index/rayon-core-1.13.0/src/registry.rs";
        let of_pool = frame("rayon_core::registry::WorkerThread::wait_until", path, false);
        assert_eq!(awaited_in(&[condition.clone(), of_pool]), Some("a job of its thread pool"));
        let busy = [condition, frame("app::task", "/src/app.rs", false), worker];
        assert_eq!(awaited_in(&busy), None);
    }

    #[test]
    fn operators_of_cpp_are_no_calls_by_name() {
        let assigned = call(&[
            "std::__atomic_base<bool>::store(bool, std::memory_order)",
            "std::atomic<bool>::operator=(bool)",
        ]);
        let (operation, name) = (assigned.operation, assigned.function.as_str());
        assert_eq!((operation, name, assigned.is_atomic), (Some(Operation::Write), "", true));
        let element = call(&["std::vector<int, std::allocator<int>>::operator[](unsigned long)"]);
        assert_eq!((element.operation, element.function.as_str()), (None, ""));
        assert_eq!(call(&["std::a::operators(int)"]).function, "operators");
    }

    #[test]
    fn a_step_in_a_library_alone_has_a_line_before_it() {
        let site = |offset| Site { module: 0, offset };
        let step = |task, at| traces::Step {
            task: traces::TaskId(task),
            operation: Operation::Update,
            object: None,
            site: site(at),
            value: 0,
        };
        let execution = Execution {
            // Task 1 in user code, task 2 in user code, task 1 in the library, twice.
            steps: vec![step(1, 1), step(2, 1), step(1, 2), step(1, 2), step(3, 2)],
            places: vec![
                (site(1), vec![frame("app::add", "/src/app.rs", false)]),
                (site(2), vec![frame("std::rt::c", STD, false)]),
            ],
            ..Execution::default()
        };
        let own: Vec<_> = (0..6).map(|at| last_own_step(&execution, at)).collect();
        assert_eq!(own, [None, None, Some(0), Some(0), None, None]);
    }

    #[test]
    fn code_of_the_library_alone_and_code_of_the_user_alone_are_no_calls() {
        let user = [frame("app::add", "/src/app.rs", false)];
        assert_eq!(of_frames(&user), None);
        let library = [frame("a::b", STD, true), frame("std::rt::c", STD, false)];
        assert_eq!(of_frames(&library), Some(SiteCall::Internal));
        assert_eq!(of_frames(&[]), None);
    }
}
