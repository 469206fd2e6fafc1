//! The visible operations of a program, and what is known of each.

use serde::{Deserialize, Serialize};

/// `ETIMEDOUT`, the value of a step whose time was up.
const TIMED_OUT: u64 = 110;

/// What an operation means to the search and to happens-before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Properties {
    write: bool,
    release: bool,
    yields: bool,
    blocks: bool,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal, $($flag:ident)*;)*) => {
        /// One visible operation of a task: where the scheduler may choose.
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

            /// A short name for people: `lock`, `wait`, `create`.
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
    /// A new task begins to run.
    Start = 1, "start", ;
    /// `pthread_create`; its object is the new task.
    Create = 2, "create", write release;
    /// `pthread_join`; its object is the task waited for.
    Join = 3, "join", write blocks;
    /// `pthread_detach`.
    Detach = 4, "detach", write;
    /// The process begins to end: `exit`, or `main` returned. Exit handlers run after this.
    Exit = 5, "exit", write yields;
    /// The process ends now: `_exit`, or the end of `exit` after its handlers.
    ExitNow = 6, "exit now", write yields;
    /// `pthread_mutex_lock`.
    Lock = 16, "lock", write blocks;
    /// `pthread_mutex_trylock`; its value is 0 or the error number.
    TryLock = 17, "try lock", write;
    /// `pthread_mutex_timedlock` and `clocklock`.
    TimedLock = 18, "timed lock", write;
    /// `pthread_mutex_unlock`.
    Unlock = 19, "unlock", write release;
    /// `pthread_cond_wait`, first half: the mutex is released and the task begins to wait.
    Wait = 24, "wait", write release yields;
    /// `pthread_cond_wait`, second half: woken, and the mutex taken again.
    Wake = 25, "wake", write blocks;
    /// The second half of a timed wait; its value is 0 or `ETIMEDOUT`.
    TimedWake = 26, "timed wake", write blocks;
    /// `pthread_cond_signal`.
    Signal = 27, "signal", write release;
    /// `pthread_cond_broadcast`.
    Broadcast = 28, "broadcast", write release;
    /// The second half of a wait that comes back though nobody need wake it (`--spurious`).
    SpuriousWake = 29, "spurious wake", write blocks;
    /// `sem_wait`.
    SemWait = 32, "sem wait", write blocks;
    /// `sem_trywait`; its value is 0 or the error number.
    SemTryWait = 33, "sem try wait", write;
    /// `sem_timedwait` and `sem_clockwait`.
    SemTimedWait = 34, "sem timed wait", write;
    /// `sem_post`.
    SemPost = 35, "sem post", write release;
    /// A futex wait: the value is compared, and the task begins to wait if it is as expected.
    FutexWait = 40, "futex wait", write yields;
    /// The end of a futex wait: woken, or timed out.
    FutexWoken = 41, "futex woken", write blocks;
    /// A futex wake; its value is how many were woken.
    FutexWake = 42, "futex wake", write release;
    /// A futex requeue; its value is how many were woken or moved.
    FutexRequeue = 43, "futex requeue", write release;
    /// `pthread_once`.
    Once = 48, "once", write;
    /// `sched_yield`.
    Yield = 49, "yield", yields;
    /// Any form of sleep.
    Sleep = 50, "sleep", yields;
    /// A wait for a descriptor to become ready.
    Ready = 56, "ready", blocks;
    /// A plain or atomic read of memory.
    Read = 64, "read", ;
    /// A plain or atomic write of memory.
    Write = 65, "write", write release;
    /// An atomic read-modify-write.
    Update = 66, "update", write release;
    /// A read that finds again and again what it found before: its task waits for another to write.
    Await = 67, "await", yields;
    /// `pthread_rwlock_rdlock`.
    ReadLock = 72, "read lock", blocks;
    /// `pthread_rwlock_tryrdlock`; its value is 0 or the error number.
    TryReadLock = 73, "try read lock", ;
    /// `pthread_rwlock_timedrdlock` and `clockrdlock`.
    TimedReadLock = 74, "timed read lock", ;
    /// `pthread_rwlock_wrlock`. Of a lock that prefers writers and is not free: the task begins to
    /// wait, with `EBUSY` for a value, and [`Operation::WriteWake`] follows.
    WriteLock = 75, "write lock", write blocks;
    /// `pthread_rwlock_trywrlock`; its value is 0 or the error number.
    TryWriteLock = 76, "try write lock", write;
    /// `pthread_rwlock_timedwrlock` and `clockwrlock`.
    TimedWriteLock = 77, "timed write lock", write;
    /// The end of a writer's wait that keeps readers out; its value is 0 or `ETIMEDOUT`.
    WriteWake = 78, "write wake", write blocks;
    /// `pthread_rwlock_unlock`.
    RwUnlock = 79, "rw unlock", write release;
    /// `pthread_barrier_wait`: the task arrives; the last one lets all go.
    BarrierWait = 80, "barrier wait", write release;
    /// The end of the wait of all that were not the last.
    BarrierPass = 81, "barrier pass", write blocks;
    /// `pthread_spin_lock`.
    SpinLock = 84, "spin lock", write blocks;
    /// `pthread_spin_trylock`; its value is 0 or the error number.
    SpinTryLock = 85, "spin try lock", write;
    /// `pthread_spin_unlock`.
    SpinUnlock = 86, "spin unlock", write release;
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
    /// `pthread_cancel`; its object is the task that is to end.
    Cancel = 96, "cancel", write release;
    /// A signal sent to a task.
    Kill = 97, "kill", write release;
    /// A task that waits handles a signal.
    Handler = 98, "handle signal", write;
    /// A wait for a signal: `sigwait`, `sigsuspend` and the like; its value is which came.
    SignalWait = 99, "signal wait", write blocks;
    /// The time of a timer is over: a signal is sent, or a function called.
    Timer = 101, "timer", write release yields;
    /// A timer is set, stopped or looked at.
    TimerSet = 102, "set timer", write release;
    /// `pthread_testcancel`.
    TestCancel = 100, "test cancel", yields;
}

impl Operation {
    /// The code used in records and files. Codes are never given another meaning.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// Whether it changes its object, so that two of them on one object do not commute.
    #[must_use]
    pub fn is_write(self) -> bool {
        self.properties().write
    }

    /// Whether what came before it in its task happens before what is woken or enabled by it.
    #[must_use]
    pub fn is_release(self) -> bool {
        self.properties().release
    }

    /// Whether the task itself invites others to run, or begins to wait: leaving it after this is no
    /// preemption.
    #[must_use]
    pub fn yields(self) -> bool {
        self.properties().yields
    }

    /// Whether it is the second half of a wait for a condition variable, which takes a mutex.
    #[must_use]
    pub fn wakes(self) -> bool {
        matches!(self, Operation::Wake | Operation::TimedWake | Operation::SpuriousWake)
    }

    /// The same where it is known what came of it: a task whose time is up has waited, and others
    /// may have been able to move meanwhile.
    #[must_use]
    pub fn gave_way(self, value: u64) -> bool {
        self.yields() || (value == TIMED_OUT && self.may_time_out())
    }

    /// Whether its value may say that a limit of time was reached.
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

    /// Whether a task has the lock that is its object after it, if it succeeds. (A wait on a
    /// condition variable takes its mutex again; that has a rule of its own.)
    #[must_use]
    pub fn takes(self) -> bool {
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

    /// Whether the lock that is its object may be had by several in this way.
    #[must_use]
    pub fn shares(self) -> bool {
        matches!(self, Operation::ReadLock | Operation::TryReadLock | Operation::TimedReadLock)
    }

    /// Whether a task gives back the lock that is its object.
    #[must_use]
    pub fn gives_back(self) -> bool {
        matches!(self, Operation::Unlock | Operation::RwUnlock | Operation::SpinUnlock)
    }

    /// Whether a task may have to wait before it can do this.
    #[must_use]
    pub fn may_block(self) -> bool {
        self.properties().blocks
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
