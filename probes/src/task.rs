//! A task: one thread of the program.

use crate::models::delivery::Interrupted;
use crate::stacks::Stack;
use crate::world::world;
use std::cell::Cell;
use traces::Operation;

/// When a parked task may go on. No more than one word beside the variant: such a value travels in
/// registers, where a larger one is written to memory in pieces and read back as a whole, which the
/// processor has to wait for in every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// At any time.
    Open,
    /// At any time; the mutex at this address is released by it.
    Releasing(u64),
    /// When the mutex at this address is free.
    MutexFree(u64),
    /// When it was woken and the mutex is free.
    WokenMutexFree(u64),
    /// When the mutex is free (a timed wait, which can always time out).
    TimedMutexFree(u64),
    /// When the mutex at this address, whose lock word holds a priority, too, is free.
    CeilingFree(u64),
    /// When the read-write lock may be had for reading.
    Readable(u64),
    /// When the read-write lock may be had for writing.
    Writable(u64),
    /// When the spin lock is free.
    SpinFree(u64),
    /// When the semaphore's value is above 0.
    SemaphorePositive(u64),
    /// When it was woken.
    Woken,
    /// When one of these signals is pending.
    Signalled(u64),
    /// When that task has ended.
    Ended(u64),
    /// When the poll that is described at this address would say something.
    Ready(u64),
    /// When the lock on a file that is described at this address could be had.
    FileFree(u64),
}

/// Where a task stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// The table's entry is not in use.
    None,
    /// It exists.
    Alive,
    /// It has ended and nobody has joined it.
    Ended,
    /// It has ended, and its stack and block were given back.
    Reaped,
}

/// What a task without a condition waits for.
static NOTHING: i32 = 0;

/// One thread of the program. All in cells: the scheduler, the models and the handlers all look at
/// tasks, one after the other, in one kernel thread.
#[derive(Clone)]
pub(crate) struct Task {
    /// Its saved stack pointer while it is parked.
    pub(crate) sp: Cell<u64>,
    /// Its thread control block; as a `pthread_t`, the program's name for it.
    pub(crate) block: Cell<u64>,
    life: Cell<Life>,
    /// Zero unless it is alive: the word of [`Task::closed`] for those who wait for its end.
    living: Cell<i32>,
    gate: Cell<Gate>,
    /// The address of a word that is zero when the gate is open, where there is such a word, else
    /// null: what nearly every task waits for is told by one comparison.
    closed: Cell<*const i32>,
    /// What this task contributes to the digest of an enabled set.
    pub(crate) word: Cell<u32>,
    /// What it is about to do, to what, called from where.
    pub(crate) operation: Cell<Operation>,
    pub(crate) object: Cell<u64>,
    pub(crate) site: Cell<u64>,
    /// The address of its object and what stands for it in every execution ([`crate::identity`]).
    pub(crate) identity: Cell<(u64, u64)>,
    /// How many blocks of the heap it allocated, in classes ([`crate::arena`]).
    pub(crate) allocated: Cell<[u32; 8]>,
    /// What tells the place apart by the frames around it, where the strategy wants to know.
    pub(crate) frames: Cell<u64>,
    /// While it is at a probe, from where on its stack everything is the program's: what lies below is
    /// the runtime's. Elsewhere 0.
    pub(crate) probed: Cell<u64>,
    /// What it waits to be woken from: the address of a condition variable or a futex word, or 0.
    pub(crate) waits_on: Cell<u64>,
    /// Another word that the call or the access at which it stands changes something on, or 0.
    pub(crate) second: Cell<u64>,
    /// Whether that access touches others, too.
    pub(crate) wide: Cell<bool>,
    /// The words of a wait on several: an array of [`crate::models::futex::Waiter`], and how many.
    pub(crate) several: Cell<(u64, u64)>,
    /// The word by which it was woken.
    pub(crate) woken_by: Cell<u64>,
    /// The bits of a futex wait.
    pub(crate) wait_bits: Cell<u32>,
    /// Its place in the order of waiting.
    pub(crate) wait_order: Cell<u64>,
    pub(crate) woken: Cell<bool>,
    /// The `once` that it is in, or 0.
    pub(crate) once: Cell<u64>,
    /// How many of its waits came back with nobody having to wake it.
    pub(crate) spurious: Cell<u32>,
    /// How many mutexes, and read-write locks to write, it has.
    pub(crate) held: Cell<u32>,
    pub(crate) detached: Cell<bool>,
    /// Who waits in `pthread_join` for it, plus one.
    pub(crate) joiner: Cell<u16>,
    pub(crate) result: Cell<u64>,
    pub(crate) start: Cell<u64>,
    pub(crate) parent: Cell<u32>,
    pub(crate) stack: Cell<Stack>,
    /// Where its outermost frame begins: unwinding for `pthread_exit` stops here.
    pub(crate) base: Cell<u64>,
    /// What it was called itself, for people; none where it was not.
    pub(crate) name: Cell<[u8; 16]>,
    /// What the system calls it: as its creator was called then, until it is called something itself.
    pub(crate) system_name: Cell<[u8; 16]>,
    /// Destructors of its thread-local objects, last registered first.
    pub(crate) destructors: Cell<u64>,
    /// The innermost cleanup buffer of code that was compiled without unwinding.
    pub(crate) cleanup: Cell<u64>,
    /// Its signal mask, as the program sees it.
    pub(crate) mask: Cell<u64>,
    /// Signals that were sent to it and not handled yet ([`crate::models::pending`]).
    pub(crate) pending: Cell<u64>,
    /// The processors that it asked to run on, or none where it did not ask. It runs on one anyway.
    pub(crate) processors: Cell<u128>,
    /// What is to be done before its operation when it is chosen next ([`crate::scheduler`]).
    pub(crate) alerts: Cell<u8>,
    /// What is known of its cancellation ([`crate::models::cancel`]).
    pub(crate) cancel: Cell<u8>,
    /// Whether the wait in which it is may be ended by a handler, and whether it was.
    pub(crate) interrupts: Cell<Interrupted>,
    pub(crate) interrupted: Cell<bool>,
    /// Where a Rust panic that nobody in the program catches was raised, or 0.
    pub(crate) panic_site: Cell<u64>,
    /// The execution's step at which that was, and the task's own last one.
    pub(crate) panic_step: Cell<u64>,
    pub(crate) last_step: Cell<u64>,
}

impl Task {
    /// An entry not in use.
    #[allow(clippy::declare_interior_mutable_const, reason = "it is only copied, into the table")]
    pub(crate) const NONE: Task = Task {
        sp: Cell::new(0),
        block: Cell::new(0),
        life: Cell::new(Life::None),
        living: Cell::new(0),
        gate: Cell::new(Gate::Open),
        closed: Cell::new(&raw const NOTHING),
        word: Cell::new(0),
        operation: Cell::new(Operation::Start),
        object: Cell::new(0),
        site: Cell::new(0),
        identity: Cell::new((0, 0)),
        allocated: Cell::new([0; 8]),
        frames: Cell::new(0),
        probed: Cell::new(0),
        waits_on: Cell::new(0),
        wait_bits: Cell::new(0),
        wait_order: Cell::new(0),
        woken: Cell::new(false),
        second: Cell::new(0),
        wide: Cell::new(false),
        several: Cell::new((0, 0)),
        woken_by: Cell::new(0),
        once: Cell::new(0),
        spurious: Cell::new(0),
        held: Cell::new(0),
        detached: Cell::new(false),
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
        processors: Cell::new(0),
        alerts: Cell::new(0),
        cancel: Cell::new(0),
        interrupts: Cell::new(Interrupted::Never),
        interrupted: Cell::new(false),
        panic_site: Cell::new(0),
        panic_step: Cell::new(0),
        last_step: Cell::new(0),
    };

    /// Where the task stands in its life.
    #[inline]
    pub(crate) fn life(&self) -> Life {
        self.life.get()
    }

    /// The task begins, ends, or is reaped.
    pub(crate) fn set_life(&self, life: Life) {
        self.life.set(life);
        self.living.set(i32::from(life == Life::Alive));
    }

    /// Gives the task a name, of which 15 bytes count.
    pub(crate) fn call(&self, name: &[u8]) {
        let mut kept = [0; 16];
        let len = name.len().min(15);
        kept[..len].copy_from_slice(&name[..len]);
        self.name.set(kept);
        self.system_name.set(kept);
    }

    /// When the task may go on.
    #[inline]
    pub(crate) fn gate(&self) -> Gate {
        self.gate.get()
    }

    /// Says when the task may go on.
    #[inline]
    pub(crate) fn set_gate(&self, gate: Gate) {
        self.gate.set(gate);
        self.closed.set(match gate {
            Gate::Open | Gate::Releasing(_) => &raw const NOTHING,
            Gate::MutexFree(mutex) => mutex as *const i32,
            Gate::Ended(other) => world().tasks[other as usize].living.as_ptr(),
            _ => std::ptr::null(),
        });
    }

    /// The word of [`Task::closed`], where there is one.
    #[inline]
    pub(crate) fn closed(&self) -> Option<i32> {
        // SAFETY: `NOTHING`, a task's own word, or a mutex that the program says is there.
        unsafe { self.closed.get().as_ref().copied() }
    }

    /// Makes this task like another.
    pub(crate) fn set(&self, other: &Task) {
        self.sp.set(other.sp.get());
        self.block.set(other.block.get());
        self.set_life(other.life.get());
        self.set_gate(other.gate.get());
        self.word.set(other.word.get());
        self.operation.set(other.operation.get());
        self.object.set(other.object.get());
        self.site.set(other.site.get());
        self.identity.set(other.identity.get());
        self.allocated.set(other.allocated.get());
        self.frames.set(other.frames.get());
        self.probed.set(other.probed.get());
        self.waits_on.set(other.waits_on.get());
        self.wait_bits.set(other.wait_bits.get());
        self.wait_order.set(other.wait_order.get());
        self.woken.set(other.woken.get());
        self.spurious.set(other.spurious.get());
        self.held.set(other.held.get());
        self.detached.set(other.detached.get());
        self.joiner.set(other.joiner.get());
        self.result.set(other.result.get());
        self.start.set(other.start.get());
        self.parent.set(other.parent.get());
        self.stack.set(other.stack.get());
        self.base.set(other.base.get());
        self.name.set(other.name.get());
        self.system_name.set(other.system_name.get());
        self.destructors.set(other.destructors.get());
        self.cleanup.set(other.cleanup.get());
        self.mask.set(other.mask.get());
        self.pending.set(other.pending.get());
        self.processors.set(other.processors.get());
        self.alerts.set(other.alerts.get());
        self.cancel.set(other.cancel.get());
        self.interrupts.set(other.interrupts.get());
        self.interrupted.set(other.interrupted.get());
        self.panic_site.set(other.panic_site.get());
        self.panic_step.set(other.panic_step.get());
        self.last_step.set(other.last_step.get());
    }
}
