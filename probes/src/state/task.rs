//! A task: one thread of the program.

use crate::state::alternate_stack::{AlternateStack, OnAlternateStack};
use crate::state::awaited::Awaited;
use crate::state::library_call::LibraryCall;
use crate::state::stack::Stack;
use crate::state::world::world;
use search::reduction::pending::Counting;
use std::cell::Cell;
use traces::Operation;

/// When a parked task is enabled. A variant has at most one word of data: such a value travels in
/// registers. A larger one would be written to memory in pieces and read back as a whole, a stall
/// of the processor in every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Always.
    Open,
    /// Always; the step releases the mutex at this address.
    Releasing(u64),
    /// When the mutex at this address is free.
    MutexFree(u64),
    /// When the task was woken and the mutex is free.
    WokenMutexFree(u64),
    /// When the mutex is free (a timed wait, which can always time out).
    TimedMutexFree(u64),
    /// When the mutex at this address is free, whose lock word also holds a priority ceiling.
    CeilingFree(u64),
    /// When a reader can acquire the read-write lock.
    Readable(u64),
    /// When a writer can acquire the read-write lock.
    Writable(u64),
    /// When the spin lock is free.
    SpinFree(u64),
    /// When the mutex of Rust's standard library whose word is at this address is free.
    WordFree(u64),
    /// Always; the step tries to lock or unlocks a mutex of Rust's standard library.
    WordOpen,
    /// When the semaphore's value is above 0.
    SemaphorePositive(u64),
    /// When the task was woken.
    Woken,
    /// When no other task is enabled: the task kept the others from moving.
    Alone,
    /// The gate is open when one of these signals is pending.
    Signalled(u64),
    /// When that task has ended.
    Ended(u64),
    /// When the [`ExternalWait`] at this address, for a descriptor, is over.
    Ready(u64),
    /// When the [`ExternalWait`] at this address, for a file lock, is over.
    FileFree(u64),
}

impl Gate {
    /// Never enabled: only a signal handler or a cancellation ends the wait. This gate uses no
    /// other state of the task, since a handler may wait at it while its task is in another wait.
    pub(crate) const NEVER: Gate = Gate::Signalled(0);

    /// The mutex that a wait on a condition variable releases or reacquires, or 0.
    pub(crate) fn mutex(self) -> u64 {
        match self {
            Gate::Releasing(mutex) | Gate::WokenMutexFree(mutex) | Gate::TimedMutexFree(mutex) => {
                mutex
            }
            _ => 0,
        }
    }

    /// Whether the operation is one on a mutex of Rust's standard library.
    pub(crate) fn is_of_word(self) -> bool {
        matches!(self, Gate::WordFree(_) | Gate::WordOpen)
    }
}

/// A wait of a parked task for something that another process may provide, on the task's stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExternalWait {
    /// Whether the wait for the thing described at the address is over.
    check: fn(u64) -> bool,
    /// Whether only this process can end the wait.
    is_private: fn(u64) -> bool,
    /// Whether only this process uses what is waited for, though another one could open it by its name.
    is_own: fn(u64) -> bool,
    described: u64,
}

impl ExternalWait {
    /// The scheduler calls `check` with the address `described` for as long as the task is parked.
    pub(crate) fn new(check: fn(u64) -> bool, described: u64) -> ExternalWait {
        ExternalWait { check, is_private: |_| false, is_own: |_| false, described }
    }

    /// The same, where `is_private` says whether only this process can end the wait.
    pub(crate) fn private_if(self, is_private: fn(u64) -> bool) -> ExternalWait {
        ExternalWait { is_private, ..self }
    }

    /// The same, where `is_own` says whether only this process uses what is waited for at present.
    pub(crate) fn own_if(self, is_own: fn(u64) -> bool) -> ExternalWait {
        ExternalWait { is_own, ..self }
    }

    /// Whether only this process uses what the wait at this address is for.
    ///
    /// # Safety
    /// The address is that of an [`ExternalWait`].
    pub(crate) unsafe fn is_own(address: u64) -> bool {
        // SAFETY: the caller's promise.
        let wait = unsafe { *(address as *const ExternalWait) };
        (wait.is_own)(wait.described)
    }

    /// Whether only this process can end the wait at this address.
    ///
    /// # Safety
    /// The address is that of an [`ExternalWait`].
    pub(crate) unsafe fn is_private(address: u64) -> bool {
        // SAFETY: the caller's promise.
        let wait = unsafe { *(address as *const ExternalWait) };
        (wait.is_private)(wait.described)
    }

    /// Its address, for a [`Gate`].
    pub(crate) fn address(&self) -> u64 {
        std::ptr::from_ref(self) as u64
    }

    /// Whether the wait at this address is over.
    ///
    /// # Safety
    /// The address is that of an [`ExternalWait`].
    pub(crate) unsafe fn is_over(address: u64) -> bool {
        // SAFETY: the caller's promise.
        let wait = unsafe { *(address as *const ExternalWait) };
        (wait.check)(wait.described)
    }
}

/// What kinds of tasks there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// A thread of the program.
    Thread,
    /// A timer of the program.
    Timer,
    /// A client of the program ([`crate::kernel::clients`]).
    Client,
}

/// Which handlers end a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// None.
    Never,
    /// A handler that was installed without `SA_RESTART`.
    UnlessRestarted,
    /// Any handler.
    Always,
}

/// The task is to handle a signal.
pub(crate) const ALERT_SIGNAL: u8 = 1;
/// The task is cancelled: it ends at the operation where it is parked.
pub(crate) const ALERT_CANCELLED: u8 = 2;
/// With [`ALERT_SIGNAL`]: the signal does not end the wait, because the task was enabled when it
/// came.
pub(crate) const ALERT_UNTOUCHED: u8 = 4;
/// With [`ALERT_SIGNAL`]: the signal comes so much later than the wait began, by the task's clock, that no delay
/// within the slack lets it come before the wait.
pub(crate) const ALERT_LATER: u8 = 8;
/// With [`ALERT_SIGNAL`]: when it came, the task was about to take a step that nothing delays.
pub(crate) const ALERT_BEFORE_STEP: u8 = 16;

/// The stages of a task's life cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    /// The table's entry is not in use.
    None,
    /// The task has begun and has not ended.
    Alive,
    /// It has ended, and no task has joined it.
    Ended,
    /// It has ended, and its stack and control block were freed.
    Reaped,
}

/// The word that [`Task::closed`] reads for a gate that is always open.
static NOTHING: i32 = 0;

/// One thread of the program. Its fields are cells, because the scheduler, the models and the
/// signal handlers all access tasks, in one kernel thread.
#[derive(Clone)]
pub(crate) struct Task {
    /// Its saved stack pointer while it is parked.
    pub(crate) sp: Cell<u64>,
    /// Its thread control block; as a `pthread_t`, the program's name for it.
    pub(crate) block: Cell<u64>,
    life: Cell<Lifecycle>,
    /// 1 while the task is alive, else 0: [`Task::closed`] reads it for tasks that join this one.
    living: Cell<i32>,
    gate: Cell<Gate>,
    /// The address of a word that is 0 exactly when the gate is open, or null if no such word
    /// exists: for most gates one comparison decides whether the task is enabled.
    closed: Cell<*const i32>,
    /// What this task contributes to the digest of an enabled set.
    pub(crate) word: Cell<u32>,
    /// Its next operation, the object, and the code address of the call.
    pub(crate) operation: Cell<Operation>,
    pub(crate) object: Cell<u64>,
    pub(crate) site: Cell<u64>,
    /// The object's address, its identity in all executions ([`crate::steps::identity`]), and
    /// whether the operation has further objects.
    pub(crate) identity: Cell<(u64, u64, bool)>,
    /// The address of the last word that it accessed in a step, and the word's identity.
    pub(crate) word_identity: Cell<(u64, u64)>,
    /// The numbers of heap blocks that the task allocated, in classes ([`crate::memory::arena`]).
    pub(crate) allocated: Cell<[u32; 8]>,
    /// In a scoped search: a site, and where the user's code called the function with it.
    pub(crate) own_site: Cell<(u64, u64)>,
    /// A hash of the frames around the site, if the strategy distinguishes sites by them.
    pub(crate) frames: Cell<u64>,
    /// While the task is at a probe: the lowest address on its stack that belongs to the program;
    /// the runtime's frames are below it. Otherwise 0.
    pub(crate) probed: Cell<u64>,
    /// The mutex of Rust's standard library that the task has locked in its last step, and whose word it is about
    /// to change in a call; 0 for none.
    pub(crate) locking: Cell<u64>,
    /// The number of the predicate's site at which it is, plus one, or 0
    /// ([`crate::schedule::predicates`]); and whether the predicate's condition may hold with it.
    pub(crate) at_site: Cell<u32>,
    pub(crate) worth: Cell<bool>,
    /// The sites at which it arrived since its last operation, one bit each, for predicates that count
    /// executions.
    pub(crate) passed: Cell<u64>,
    /// The sites at which it was when it executed its last step: it is still there if the next one belongs to
    /// the same operation.
    pub(crate) passing: Cell<u64>,
    /// The address of the condition variable or futex word at which it waits to be woken, or 0.
    pub(crate) waits_on: Cell<u64>,
    /// The list of futexes that the program registered (`set_robust_list`), or 0 for the C library's.
    pub(crate) robust_list: Cell<u64>,
    /// The size of the memory that the pending access touches, in bytes from its object on.
    pub(crate) size: Cell<u64>,
    /// Whether the pending update counts.
    pub(crate) counting: Cell<Counting>,
    /// A second word that the pending call modifies, or 0.
    pub(crate) second: Cell<u64>,
    /// The words of a wait on several: an array of [`crate::primitives::waiters::Waiter`], and its
    /// length.
    pub(crate) several: Cell<(u64, u64)>,
    /// The word by which it was woken.
    pub(crate) woken_by: Cell<u64>,
    /// The bits of a futex wait.
    pub(crate) wait_bits: Cell<u32>,
    /// Its position in the order of waiters.
    pub(crate) wait_order: Cell<u64>,
    pub(crate) woken: Cell<bool>,
    /// The `pthread_once_t` whose routine it runs, or 0.
    pub(crate) once: Cell<u64>,
    /// That routine, and the site of the call that runs it.
    pub(crate) once_routine: Cell<(u64, u64)>,
    /// The number of the task's waits that ended as spurious wakeups.
    pub(crate) spurious: Cell<u32>,
    /// The number of the task's transfers that were short by choice.
    pub(crate) short_counts: Cell<u32>,
    /// The number of mutexes and write locks that the task holds.
    pub(crate) held: Cell<u32>,
    pub(crate) detached: Cell<bool>,
    /// What kind of task it is.
    pub(crate) kind: Cell<TaskKind>,
    /// The number of the task that waits in `pthread_join` for this one, plus one.
    pub(crate) joiner: Cell<u16>,
    pub(crate) result: Cell<u64>,
    pub(crate) start: Cell<u64>,
    pub(crate) parent: Cell<u32>,
    pub(crate) stack: Cell<Stack>,
    /// The address at which the task's outermost frame begins: unwinding for `pthread_exit` stops
    /// here.
    pub(crate) base: Cell<u64>,
    /// The name that the program gave it, for messages; empty if the program gave none.
    pub(crate) name: Cell<[u8; 16]>,
    /// The name that the kernel would report: the creator's name at that time, until the program
    /// sets one.
    pub(crate) system_name: Cell<[u8; 16]>,
    /// Destructors of its thread-local objects, last registered first.
    pub(crate) destructors: Cell<u64>,
    /// The innermost cleanup buffer of code that was compiled without unwinding.
    pub(crate) cleanup: Cell<u64>,
    /// Its signal mask, as the program sees it.
    pub(crate) mask: Cell<u64>,
    /// Signals that were sent to it and are not handled yet ([`crate::state::pending_signals`]).
    pub(crate) pending: Cell<u64>,
    /// Signals that it masks except for its present wait (`sigsuspend`, `ppoll` and the like), so that
    /// they arrive only while it waits.
    pub(crate) masked_outside: Cell<u64>,
    /// The signal whose handler it runs, or 0; and where on its stack the handler's frames begin.
    pub(crate) handler: Cell<(u8, u64)>,
    /// The call of a library function with hidden state that it made last.
    pub(crate) library_call: Cell<LibraryCall>,
    /// Whether it is still at the beginning of that call.
    pub(crate) begins_call: Cell<bool>,
    /// The address of what its innermost handler interrupted, or 0
    /// ([`crate::state::library_call::Interruption`]).
    pub(crate) interruption: Cell<u64>,
    /// Its alternate signal stack, and its last handler that ran on one.
    pub(crate) alternate_stack: Cell<AlternateStack>,
    pub(crate) on_alternate_stack: Cell<OnAlternateStack>,
    /// Where its handler finds the registers of the code that it interrupted at any moment, as a range of addresses.
    pub(crate) shown_registers: Cell<(u64, u64)>,
    /// The processors that it set as its affinity, or none if it set none. It runs on one in any
    /// case.
    pub(crate) processors: Cell<u128>,
    /// What it has to do before its operation when it is chosen next
    /// ([`ALERT_SIGNAL`] and its like).
    pub(crate) alerts: Cell<u8>,
    /// Whether it is between the two steps of one instruction, where no handler may begin.
    pub(crate) in_instruction: Cell<bool>,
    /// Whether a signal came there, which the task handles after the instruction.
    pub(crate) is_signalled: Cell<bool>,
    /// While it yields in a loop that reads the same values again and again: the site of one of the reads,
    /// and the word that it reads.
    pub(crate) loop_access: Cell<(u64, u64)>,
    /// Its cancellation state ([`crate::primitives::cancel`]).
    pub(crate) cancel: Cell<u8>,
    /// Whether a signal handler may end its current wait, and whether one did.
    pub(crate) interrupts: Cell<Interrupted>,
    pub(crate) interrupted: Cell<bool>,
    /// Where a Rust panic was raised that no code of the program catches, or 0.
    pub(crate) panic_site: Cell<u64>,
    /// The execution's step at which that was, and the task's own last step.
    pub(crate) panic_step: Cell<u64>,
    pub(crate) last_step: Cell<u64>,
    /// Whether only the standard library's function that runs the thread's closure catches a panic that was raised.
    pub(crate) panic_ends: Cell<bool>,
    /// If a panic has ended the thread: how much the program had printed by then, plus 1. Else 0.
    pub(crate) lost_panic: Cell<u64>,
    /// When its pending wait expires by its clock, or [`crate::state::time::NEVER`].
    pub(crate) deadline: Cell<u64>,
    /// What may end that wait before its deadline: the address of an [`ExternalWait`], or a set of
    /// signals; or 0.
    pub(crate) limited_wait: Cell<u64>,
    /// While it looks at descriptors, or waits for them or for System V objects, if these are known: what
    /// for.
    pub(crate) open_files: Cell<Option<Awaited>>,
    /// The descriptor of which it has just found that it is not ready, without a wait, and for which of its events,
    /// if another process may make it ready.
    pub(crate) outside: Cell<Option<(u32, i16)>>,
    /// While it is shown that it waits in a loop: the lowest of the sites in the loop at which it may wait, or
    /// `u64::MAX`.
    pub(crate) loop_site: Cell<u64>,
    /// Whether the task is not enabled only because its deadline is not due.
    pub(crate) not_due: Cell<bool>,
    /// The number of its steps since its clock rose by an expiry, with what counts as a step
    /// ([`crate::schedule::time::spend`]).
    pub(crate) steps: Cell<u32>,
    /// By how much its clock rose since its last step other than a yield, because it read clocks or made
    /// system calls.
    pub(crate) waited: Cell<u64>,
    /// Whether it has read a clock since these steps were last counted as time.
    pub(crate) reads_clock: Cell<bool>,
    /// The nice value that the program gave it, if it did.
    pub(crate) nice: Cell<Option<i8>>,
    /// Its timer slack at its creation and now, in nanoseconds; 0 for that of the process at its start.
    pub(crate) timer_slack: Cell<(u64, u64)>,
    /// The scheduling policy and priority that it was given by a system call, or from its creator.
    pub(crate) scheduling: Cell<(i32, i32)>,
    /// Whether its attributes gave it those (`PTHREAD_EXPLICIT_SCHED`).
    pub(crate) is_scheduled: Cell<bool>,
    /// The site of the system call that it made last.
    pub(crate) served: Cell<u64>,
    /// The number of that call.
    pub(crate) call: Cell<i64>,
}

impl Task {
    /// Whether the task is a thread of the program.
    pub(crate) fn is_thread(&self) -> bool {
        self.kind.get() == TaskKind::Thread
    }

    /// Where the stack ends of which this address is a part: behind the task's outermost frame there.
    pub(crate) fn end_of_frames(&self, address: u64) -> u64 {
        let alternate = self.on_alternate_stack.get();
        if alternate.has(address) { alternate.high } else { self.base.get() }
    }

    /// The word of the epoll descriptor of which the pending call would take events now, or 0.
    pub(crate) fn takes(&self) -> u64 {
        let word = self.open_files.get().map_or(0, |awaited| awaited.takes);
        if word != 0 && self.is_over() { word } else { 0 }
    }

    /// Whether there is something to find for a task that looks at descriptors or waits for them: what made them
    /// ready may be no step.
    pub(crate) fn is_over(&self) -> bool {
        let wait = self.limited_wait.get();
        // SAFETY: while `open_files` has a value, the task is parked in the call that stored the address of its
        // wait, on its stack, or 0.
        self.open_files.get().is_some() && wait != 0 && unsafe { ExternalWait::is_over(wait) }
    }

    /// An unused entry.
    #[allow(clippy::declare_interior_mutable_const, reason = "it is only copied, into the table")]
    pub(crate) const NONE: Task = Task {
        sp: Cell::new(0),
        block: Cell::new(0),
        life: Cell::new(Lifecycle::None),
        living: Cell::new(0),
        gate: Cell::new(Gate::Open),
        closed: Cell::new(&raw const NOTHING),
        word: Cell::new(0),
        operation: Cell::new(Operation::Start),
        object: Cell::new(0),
        site: Cell::new(0),
        identity: Cell::new((0, 0, false)),
        word_identity: Cell::new((0, 0)),
        allocated: Cell::new([0; 8]),
        own_site: Cell::new((0, 0)),
        frames: Cell::new(0),
        probed: Cell::new(0),
        locking: Cell::new(0),
        at_site: Cell::new(0),
        worth: Cell::new(false),
        passed: Cell::new(0),
        passing: Cell::new(0),
        waits_on: Cell::new(0),
        robust_list: Cell::new(0),
        wait_bits: Cell::new(0),
        wait_order: Cell::new(0),
        woken: Cell::new(false),
        size: Cell::new(0),
        counting: Cell::new(Counting::None),
        second: Cell::new(0),
        several: Cell::new((0, 0)),
        woken_by: Cell::new(0),
        once: Cell::new(0),
        once_routine: Cell::new((0, 0)),
        spurious: Cell::new(0),
        short_counts: Cell::new(0),
        held: Cell::new(0),
        detached: Cell::new(false),
        kind: Cell::new(TaskKind::Thread),
        joiner: Cell::new(0),
        result: Cell::new(0),
        start: Cell::new(0),
        parent: Cell::new(u32::MAX),
        stack: Cell::new(Stack { low: 0, high: 0, guard: 0, foreign: false }),
        base: Cell::new(0),
        name: Cell::new([0; 16]),
        system_name: Cell::new([0; 16]),
        destructors: Cell::new(0),
        cleanup: Cell::new(0),
        mask: Cell::new(0),
        pending: Cell::new(0),
        masked_outside: Cell::new(0),
        handler: Cell::new((0, 0)),
        library_call: Cell::new(LibraryCall::NONE),
        begins_call: Cell::new(false),
        interruption: Cell::new(0),
        alternate_stack: Cell::new(AlternateStack::NONE),
        on_alternate_stack: Cell::new(OnAlternateStack::NONE),
        shown_registers: Cell::new((0, 0)),
        processors: Cell::new(0),
        alerts: Cell::new(0),
        in_instruction: Cell::new(false),
        is_signalled: Cell::new(false),
        loop_access: Cell::new((0, 0)),
        cancel: Cell::new(0),
        interrupts: Cell::new(Interrupted::Never),
        interrupted: Cell::new(false),
        panic_site: Cell::new(0),
        panic_step: Cell::new(0),
        last_step: Cell::new(0),
        panic_ends: Cell::new(false),
        lost_panic: Cell::new(0),
        deadline: Cell::new(crate::state::time::NEVER),
        limited_wait: Cell::new(0),
        open_files: Cell::new(None),
        outside: Cell::new(None),
        loop_site: Cell::new(u64::MAX),
        not_due: Cell::new(false),
        steps: Cell::new(0),
        waited: Cell::new(0),
        reads_clock: Cell::new(false),
        served: Cell::new(0),
        call: Cell::new(-1),
        nice: Cell::new(None),
        timer_slack: Cell::new((0, 0)),
        scheduling: Cell::new((libc::SCHED_OTHER, 0)),
        is_scheduled: Cell::new(false),
    };

    /// The stage of its life cycle.
    #[inline]
    pub(crate) fn life(&self) -> Lifecycle {
        self.life.get()
    }

    /// The task begins, ends, or is reaped.
    pub(crate) fn set_life(&self, life: Lifecycle) {
        self.life.set(life);
        self.living.set(i32::from(life == Lifecycle::Alive));
    }

    /// Gives the task a name, truncated to 15 bytes.
    pub(crate) fn set_name(&self, name: &[u8]) {
        let mut truncated = [0; 16];
        let len = name.len().min(15);
        truncated[..len].copy_from_slice(&name[..len]);
        self.name.set(truncated);
        self.system_name.set(truncated);
    }

    /// When the task is enabled.
    #[inline]
    pub(crate) fn gate(&self) -> Gate {
        self.gate.get()
    }

    /// Sets the gate, which determines when the task is enabled.
    #[inline]
    pub(crate) fn set_gate(&self, gate: Gate) {
        self.gate.set(gate);
        self.closed.set(match gate {
            Gate::Open | Gate::Releasing(_) | Gate::WordOpen => &raw const NOTHING,
            Gate::MutexFree(mutex) | Gate::WordFree(mutex) => mutex as *const i32,
            Gate::Ended(other) => world().tasks[other as usize].living.as_ptr(),
            _ => std::ptr::null(),
        });
    }

    /// The word of [`Task::closed`], if the gate has one.
    #[inline]
    pub(crate) fn closed(&self) -> Option<i32> {
        // SAFETY: the pointer is null or valid: it points to `NOTHING`, to a cell in the static
        // table of tasks, or to the lock word of a mutex that the program passed to a lock
        // function. The program must keep that mutex alive while a task waits for it; if it
        // unmapped the memory, this read faults and is reported as the program's crash.
        unsafe { self.closed.get().as_ref().copied() }
    }

    /// Copies another task's state into this one.
    pub(crate) fn set(&self, other: &Task) {
        // Every field is named, so that none is forgotten.
        let Task {
            life,
            living: _,
            gate,
            closed: _,
            sp,
            block,
            word,
            operation,
            object,
            site,
            identity,
            allocated,
            own_site,
            frames,
            probed,
            locking,
            at_site,
            worth,
            passed,
            passing,
            waits_on,
            robust_list,
            second,
            word_identity,
            size,
            counting,
            several,
            woken_by,
            wait_bits,
            wait_order,
            woken,
            once,
            once_routine,
            spurious,
            short_counts,
            held,
            detached,
            kind,
            joiner,
            result,
            start,
            parent,
            stack,
            base,
            name,
            system_name,
            destructors,
            cleanup,
            mask,
            pending,
            masked_outside,
            handler,
            alternate_stack,
            on_alternate_stack,
            shown_registers,
            processors,
            alerts,
            in_instruction,
            is_signalled,
            loop_access,
            cancel,
            interrupts,
            interrupted,
            panic_site,
            panic_step,
            last_step,
            panic_ends,
            lost_panic,
            deadline,
            limited_wait,
            open_files,
            outside,
            loop_site,
            not_due,
            steps,
            waited,
            reads_clock,
            nice,
            timer_slack,
            scheduling,
            is_scheduled,
            served,
            call,
            library_call,
            begins_call,
            interruption,
        } = other;
        self.set_life(life.get());
        self.set_gate(gate.get());
        self.sp.set(sp.get());
        self.block.set(block.get());
        self.word.set(word.get());
        self.operation.set(operation.get());
        self.object.set(object.get());
        self.site.set(site.get());
        self.identity.set(identity.get());
        self.allocated.set(allocated.get());
        self.own_site.set(own_site.get());
        self.frames.set(frames.get());
        self.probed.set(probed.get());
        self.locking.set(locking.get());
        self.at_site.set(at_site.get());
        self.worth.set(worth.get());
        self.passed.set(passed.get());
        self.passing.set(passing.get());
        self.waits_on.set(waits_on.get());
        self.robust_list.set(robust_list.get());
        self.second.set(second.get());
        self.word_identity.set(word_identity.get());
        self.size.set(size.get());
        self.counting.set(counting.get());
        self.several.set(several.get());
        self.woken_by.set(woken_by.get());
        self.wait_bits.set(wait_bits.get());
        self.wait_order.set(wait_order.get());
        self.woken.set(woken.get());
        self.once.set(once.get());
        self.once_routine.set(once_routine.get());
        self.spurious.set(spurious.get());
        self.short_counts.set(short_counts.get());
        self.held.set(held.get());
        self.detached.set(detached.get());
        self.kind.set(kind.get());
        self.joiner.set(joiner.get());
        self.result.set(result.get());
        self.start.set(start.get());
        self.parent.set(parent.get());
        self.stack.set(stack.get());
        self.base.set(base.get());
        self.name.set(name.get());
        self.system_name.set(system_name.get());
        self.destructors.set(destructors.get());
        self.cleanup.set(cleanup.get());
        self.mask.set(mask.get());
        self.pending.set(pending.get());
        self.masked_outside.set(masked_outside.get());
        self.handler.set(handler.get());
        self.alternate_stack.set(alternate_stack.get());
        self.on_alternate_stack.set(on_alternate_stack.get());
        self.shown_registers.set(shown_registers.get());
        self.processors.set(processors.get());
        self.alerts.set(alerts.get());
        self.in_instruction.set(in_instruction.get());
        self.is_signalled.set(is_signalled.get());
        self.loop_access.set(loop_access.get());
        self.cancel.set(cancel.get());
        self.interrupts.set(interrupts.get());
        self.interrupted.set(interrupted.get());
        self.panic_site.set(panic_site.get());
        self.panic_step.set(panic_step.get());
        self.last_step.set(last_step.get());
        self.panic_ends.set(panic_ends.get());
        self.lost_panic.set(lost_panic.get());
        self.deadline.set(deadline.get());
        self.limited_wait.set(limited_wait.get());
        self.open_files.set(open_files.get());
        self.outside.set(outside.get());
        self.loop_site.set(loop_site.get());
        self.not_due.set(not_due.get());
        self.steps.set(steps.get());
        self.waited.set(waited.get());
        self.reads_clock.set(reads_clock.get());
        self.nice.set(nice.get());
        self.timer_slack.set(timer_slack.get());
        self.scheduling.set(scheduling.get());
        self.is_scheduled.set(is_scheduled.get());
        self.served.set(served.get());
        self.call.set(call.get());
        self.library_call.set(library_call.get());
        self.begins_call.set(begins_call.get());
        self.interruption.set(interruption.get());
    }
}
