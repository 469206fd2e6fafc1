//! Panics of detached threads, which neither the exit status nor another thread reports.
//!
//! Rust's standard library catches the panic of each thread that it starts. If nothing else catches it, the thread
//! ends, and only a join returns the panic. A thread of a scope is detached, too: the scope panics in its turn once
//! all of its threads have ended. So it is known at the end of the execution only whether the panic is lost.

use crate::fiber::handlers;
use crate::instrument::binary::rust_threads;
use crate::kernel::abort::{self, SCOPE_PANICKED};
use crate::kernel::{output, panic_stack};
use crate::state::end::End;
use crate::state::outcome;
use crate::state::task::Task;
use crate::state::world::world;
use crate::sys::raw;
use traces::FailureKind;
use traces::wire::FoundFailure;

/// The running task raises a panic with this exception object, called from `site`.
pub(super) fn raised(exception: u64, site: u64) {
    let world = world();
    let task = world.task();
    task.panic_site.set(site);
    task.panic_step.set(world.step.get());
    task.panic_ends.set(task.panic_ends.get() || ends_thread(task));
    if is_of_scope(exception) {
        let created = &world.tasks[..usize::from(world.created.get())];
        for task in created {
            // A thread of the scope has to end only.
            task.panic_ends.set(false);
            task.lost_panic.set(0);
        }
    }
}

/// Whether only the function in which the standard library runs a thread's closure catches the panic. It is not the
/// start routine, which calls it. If the program has started the thread in another way, a function of the program
/// can be in that place: [`instead_of`] asks for that.
fn ends_thread(task: &Task) -> bool {
    let catching = handlers::catching();
    catching.count == 1 && catching.outermost != task.start.get()
}

/// Whether the panic is that of a scope, one of whose threads has panicked. Rust's exception object has the payload
/// behind the unwinder's part and a mark: the address of the data and that of the type's table. The payload is a
/// text: an address and a length.
fn is_of_scope(exception: u64) -> bool {
    const PAYLOAD: u64 = 40;
    let data = words(exception + PAYLOAD).map_or([0; 2], words_of_text);
    let mut text = [0; SCOPE_PANICKED.len()];
    data[1] == text.len() as u64
        && raw::read(data[0], &mut text)
        && text == SCOPE_PANICKED.as_bytes()
}

/// The address and the length of a payload's text; zeros if it is none.
fn words_of_text([data, table]: [u64; 2]) -> [u64; 2] {
    // A destructor, the size and the alignment.
    match (words(table), words(table + 8)) {
        (Some([0, 16]), Some([16, 8])) => words(data).unwrap_or_default(),
        _ => [0; 2],
    }
}

/// Two words at an address, if they can be read.
fn words(address: u64) -> Option<[u64; 2]> {
    let mut bytes = [[0; 8]; 2];
    raw::read(address, bytes.as_flattened_mut()).then(|| bytes.map(u64::from_ne_bytes))
}

/// The running task ends. Whether it is or will be detached decides whether its panic is lost.
pub(super) fn task_ends(task: &Task) {
    // It does nothing visible after a panic that it did not catch.
    if task.panic_ends.get() && task.last_step.get() <= task.panic_step.get() {
        task.lost_panic.set(output::printed().len() as u64 + 1);
    }
}

/// The end to report: a panic that was lost instead of no failure, and instead of a failure that may follow from it.
pub(crate) fn instead_of(end: End) -> End {
    use FailureKind::{Exit, Livelock, Panic, Spin};
    let may_follow = match &end {
        End::Passed => true,
        End::Failed(found) => {
            found.kind.is_deadlock() || matches!(found.kind, Exit | Livelock | Spin)
        }
        _ => false,
    };
    if !may_follow || !outcome::counts(Panic) {
        return end;
    }
    let created = &world().tasks[..usize::from(world().created.get())];
    let is_lost = |task: &Task| {
        task.detached.get()
            && task.lost_panic.get() != 0
            && rust_threads::may_start_threads(task.start.get())
    };
    match (0..).zip(created).find(|(_, task)| is_lost(task)) {
        Some((number, task)) => End::Failed(Box::new(found(number, task))),
        None => end,
    }
}

fn found(number: u16, task: &Task) -> FoundFailure {
    let printed = output::printed();
    let until = (task.lost_panic.get() as usize - 1).min(printed.len());
    let message = abort::panic_message_in(&printed[..until]).unwrap_or_default();
    let past = panic_stack::of(&message);
    let found = outcome::found(FailureKind::Panic, task.panic_site.get(), message);
    FoundFailure { task: Some(number), past, ..found }
}
