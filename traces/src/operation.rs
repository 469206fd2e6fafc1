//! The visible operations of a program. The table below is their registry: a new operation is one
//! line of it. A code is stored in traces, so it is never reused or changed.

use serde::{Deserialize, Serialize};

/// `ETIMEDOUT`, the value of a step that timed out.
const TIMED_OUT: u64 = 110;

/// Properties that the search and happens-before need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Properties {
    write: bool,
    yields: bool,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $($flag:ident)*;)*) => {
        /// One visible operation of a task. The scheduler chooses before each of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Operation { $($(#[$doc])* $variant = $code,)* }

        impl Operation {
            /// Every operation, in the order of their codes.
            pub const ALL: &'static [Operation] = &[$(Operation::$variant,)*];

            /// The operation with this code, if there is one.
            #[must_use]
            pub fn from_code(code: u8) -> Option<Operation> {
                match code { $($code => Some(Operation::$variant),)* _ => None }
            }

            /// A short name for the user: `lock`, `wait`, `create`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Operation::$variant => $name,)* }
            }

            #[allow(clippy::needless_update, reason = "some operations name every flag, some none")]
            fn properties(self) -> Properties {
                match self { $(Operation::$variant => Properties { $($flag: true,)* ..Properties::default() },)* }
            }
        }
    };
}

operations! {
    /// A new task begins.
    Start = 1, "start", ;
    /// `pthread_create`; its object is the new task.
    Create = 2, "create", write;
    /// `pthread_join`; its object is the joined task.
    Join = 3, "join", write;
    /// `pthread_detach`.
    Detach = 4, "detach", write;
    /// The process begins to exit: `exit`, or a return from `main`. Exit handlers run after this.
    Exit = 5, "exit", write yields;
    /// The process exits: `_exit`, or the end of `exit` after its handlers.
    ExitNow = 6, "exit now", write yields;
    /// `pthread_mutex_lock`.
    Lock = 16, "lock", write;
    /// `pthread_mutex_trylock`; its value is 0 or the error number.
    TryLock = 17, "try lock", write;
    /// `pthread_mutex_timedlock` and `clocklock`.
    TimedLock = 18, "timed lock", write;
    /// `pthread_mutex_unlock`.
    Unlock = 19, "unlock", write;
    /// `pthread_cond_wait`, first half: the task releases the mutex and begins to wait.
    Wait = 24, "wait", write yields;
    /// `pthread_cond_wait`, second half: the task was woken, and locks the mutex again.
    Wake = 25, "wake", write;
    /// The second half of a timed wait; its value is 0 or `ETIMEDOUT`.
    TimedWake = 26, "timed wake", write;
    /// `pthread_cond_signal`.
    Signal = 27, "signal", write;
    /// `pthread_cond_broadcast`.
    Broadcast = 28, "broadcast", write;
    /// The second half of a wait that may wake up spuriously (`--spurious`).
    SpuriousWake = 29, "spurious wake", write;
    /// `sem_wait`.
    SemWait = 32, "sem wait", write;
    /// `sem_trywait`; its value is 0 or the error number.
    SemTryWait = 33, "sem try wait", write;
    /// `sem_timedwait` and `sem_clockwait`.
    SemTimedWait = 34, "sem timed wait", write;
    /// `sem_post`.
    SemPost = 35, "sem post", write;
    /// A futex wait: the task compares the value, and begins to wait if it is the expected one.
    FutexWait = 40, "futex wait", write yields;
    /// The end of a futex wait: the task was woken, or timed out.
    FutexWoken = 41, "futex woken", write;
    /// A futex wake; its value is the number of woken tasks.
    FutexWake = 42, "futex wake", write;
    /// A futex requeue; its value is the number of woken or moved tasks.
    FutexRequeue = 43, "futex requeue", write;
    /// `pthread_once`.
    Once = 48, "once", write;
    /// `sched_yield`.
    Yield = 49, "yield", yields;
    /// Any form of sleep.
    Sleep = 50, "sleep", yields;
    /// A wait for a descriptor to become ready.
    Ready = 56, "ready",;
    /// A plain or atomic read of memory.
    Read = 64, "read", ;
    /// A plain or atomic write of memory.
    Write = 65, "write", write;
    /// An atomic read-modify-write.
    Update = 66, "update", write;
    /// A read that repeatedly returned the same value: the task waits for a write by another task.
    Await = 67, "await", yields;
    /// `pthread_rwlock_rdlock`.
    ReadLock = 72, "read lock",;
    /// `pthread_rwlock_tryrdlock`; its value is 0 or the error number.
    TryReadLock = 73, "try read lock", ;
    /// `pthread_rwlock_timedrdlock` and `clockrdlock`.
    TimedReadLock = 74, "timed read lock", ;
    /// `pthread_rwlock_wrlock`. If the lock prefers writers and is not free, the task begins to
    /// wait: the value is `EBUSY`, and [`Operation::WriteWake`] follows.
    WriteLock = 75, "write lock", write;
    /// `pthread_rwlock_trywrlock`; its value is 0 or the error number.
    TryWriteLock = 76, "try write lock", write;
    /// `pthread_rwlock_timedwrlock` and `clockwrlock`.
    TimedWriteLock = 77, "timed write lock", write;
    /// The end of a writer's wait during which readers are blocked; its value is 0 or `ETIMEDOUT`.
    WriteWake = 78, "write wake", write;
    /// `pthread_rwlock_unlock`.
    RwUnlock = 79, "rw unlock", write;
    /// `pthread_barrier_wait`: the task arrives; the last task to arrive releases all.
    BarrierWait = 80, "barrier wait", write;
    /// The end of the wait of all tasks but the last to arrive.
    BarrierPass = 81, "barrier pass", write;
    /// `pthread_spin_lock`.
    SpinLock = 84, "spin lock", write;
    /// `pthread_spin_trylock`; its value is 0 or the error number.
    SpinTryLock = 85, "spin try lock", write;
    /// `pthread_spin_unlock`.
    SpinUnlock = 86, "spin unlock", write;
    /// `pthread_mutex_destroy`.
    MutexDestroy = 88, "destroy mutex", write;
    /// `pthread_cond_destroy`.
    ConditionDestroy = 89, "destroy condition", write;
    /// `sem_destroy`.
    SemDestroy = 90, "destroy semaphore", write;
    /// `pthread_rwlock_destroy`.
    RwDestroy = 91, "destroy rwlock", write;
    /// `pthread_barrier_destroy`.
    BarrierDestroy = 92, "destroy barrier", write;
    /// `pthread_spin_destroy`.
    SpinDestroy = 93, "destroy spin lock", write;
    /// `pthread_cancel`; its object is the cancelled task.
    Cancel = 96, "cancel", write;
    /// A signal is sent to a task.
    Kill = 97, "kill", write;
    /// A blocked task runs a signal handler.
    Handler = 98, "handle signal", write;
    /// A wait for a signal: `sigwait`, `sigsuspend` and the like; its value is the signal.
    SignalWait = 99, "signal wait", write;
    /// A timer expires: it sends a signal, or calls a function.
    Timer = 101, "timer", write yields;
    /// A timer is set, stopped or read.
    TimerSet = 102, "set timer", write;
    /// `pthread_testcancel`.
    TestCancel = 100, "test cancel", yields;
}

impl Operation {
    /// The code in records and files. Codes are append-only: none is ever given another meaning.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Whether the operation changes its object, so that two of them on one object do not commute.
    #[must_use]
    pub fn is_write(self) -> bool {
        self.properties().write
    }

    /// Whether the task yields or begins to wait with this operation: a switch after it is not a
    /// preemption.
    #[must_use]
    pub fn yields(self) -> bool {
        self.properties().yields
    }

    /// Whether this is the second half of a wait on a condition variable, which locks a mutex.
    #[must_use]
    pub fn is_condition_wake(self) -> bool {
        matches!(self, Operation::Wake | Operation::TimedWake | Operation::SpuriousWake)
    }

    /// Whether a switch after the operation is no preemption, given the operation's value: the task
    /// yielded, or it timed out, so that it had waited and other tasks were enabled meanwhile.
    #[must_use]
    pub fn yielded_or_timed_out(self, value: u64) -> bool {
        self.yields() || (value == TIMED_OUT && self.may_time_out())
    }

    /// Whether the operation's value may be `ETIMEDOUT`.
    #[must_use]
    pub fn may_time_out(self) -> bool {
        use Operation as O;
        matches!(
            self,
            O::Join
                | O::TimedLock
                | O::TimedWake
                | O::SemTimedWait
                | O::FutexWoken
                | O::TimedReadLock
                | O::TimedWriteLock
                | O::WriteWake
        )
    }

    /// Whether the task holds the lock that is the operation's object afterwards, if the operation
    /// succeeds. (A wait on a condition variable locks its mutex again; callers treat that
    /// separately.)
    #[must_use]
    pub fn acquires_lock(self) -> bool {
        use Operation as O;
        matches!(
            self,
            O::Lock
                | O::TryLock
                | O::TimedLock
                | O::ReadLock
                | O::TryReadLock
                | O::TimedReadLock
                | O::WriteLock
                | O::TryWriteLock
                | O::TimedWriteLock
                | O::WriteWake
                | O::SpinLock
                | O::SpinTryLock
        )
    }

    /// Whether the operation takes a lock in shared (reader) mode.
    #[must_use]
    pub fn is_shared_lock(self) -> bool {
        matches!(self, Operation::ReadLock | Operation::TryReadLock | Operation::TimedReadLock)
    }

    /// Whether the operation releases the lock that is its object.
    #[must_use]
    pub fn releases_lock(self) -> bool {
        matches!(self, Operation::Unlock | Operation::RwUnlock | Operation::SpinUnlock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_go_both_ways() {
        for &operation in Operation::ALL {
            assert_eq!(Operation::from_code(operation.code()), Some(operation));
        }
        assert_eq!(Operation::from_code(255), None);
    }
}
