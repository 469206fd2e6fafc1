//! The visible operations, those that other tasks can observe, with their codes. [`crate::primitives`] describes them.

use serde::{Deserialize, Serialize};

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $code:literal,)*) => {
        /// One visible operation of a task. The scheduler chooses before each of them.
        ///
        /// A code is stored in traces, so it is never reused or changed (`codes.txt` lists them).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Operation { $($(#[$doc])* $variant = $code,)* }

        impl Operation {
            /// Every operation.
            pub const ALL: &'static [Operation] = &[$(Operation::$variant,)*];

            /// The operation with this code, if there is one.
            #[must_use]
            pub fn from_code(code: u8) -> Option<Operation> {
                match code { $($code => Some(Operation::$variant),)* _ => None }
            }
        }
    };
}

operations! {
    /// A new task begins.
    Start = 1,
    /// `pthread_create`; its object is the new task.
    Create = 2,
    /// `pthread_join`; its object is the joined task.
    Join = 3,
    /// `pthread_detach`.
    Detach = 4,
    /// The process begins to exit: `exit`, or a return from `main`. Exit handlers run after this.
    Exit = 5,
    /// The process exits: `_exit`, or the end of `exit` after its handlers.
    ExitNow = 6,
    /// `pthread_mutex_lock`.
    Lock = 16,
    /// `pthread_mutex_trylock`; its value is 0 or the error number.
    TryLock = 17,
    /// `pthread_mutex_timedlock` and `clocklock`.
    TimedLock = 18,
    /// `pthread_mutex_unlock`.
    Unlock = 19,
    /// `pthread_cond_wait`, first half: the task releases the mutex and begins to wait.
    Wait = 24,
    /// `pthread_cond_wait`, second half: the task was woken, and locks the mutex again.
    Wake = 25,
    /// The second half of a timed wait; its value is 0 or `ETIMEDOUT`.
    TimedWake = 26,
    /// `pthread_cond_signal`.
    Signal = 27,
    /// `pthread_cond_broadcast`.
    Broadcast = 28,
    /// The second half of a wait that may wake up spuriously (`--spurious`).
    SpuriousWake = 29,
    /// `sem_wait`.
    SemWait = 32,
    /// `sem_trywait`; its value is 0 or the error number.
    SemTryWait = 33,
    /// `sem_timedwait` and `sem_clockwait`.
    SemTimedWait = 34,
    /// `sem_post`.
    SemPost = 35,
    /// A futex wait: the task compares the value, and begins to wait if it is the expected one.
    FutexWait = 40,
    /// The end of a futex wait: the task was woken, or timed out.
    FutexWoken = 41,
    /// A futex wake; its value is the number of woken tasks.
    FutexWake = 42,
    /// A futex requeue; its value is the number of woken or moved tasks.
    FutexRequeue = 43,
    /// `pthread_once`.
    Once = 48,
    /// `sched_yield`.
    Yield = 49,
    /// Any form of sleep.
    Sleep = 50,
    /// A wait for a descriptor to become ready.
    Ready = 56,
    /// A read from or a write to a descriptor that does not wait; its value is 0, or `EAGAIN` if it is refused.
    Transfer = 57,
    /// A plain or atomic read of memory.
    Read = 64,
    /// A plain or atomic write of memory.
    Write = 65,
    /// An atomic read-modify-write.
    Update = 66,
    /// A read that repeatedly returned the same value: the task waits for a write by another task.
    Await = 67,
    /// `pthread_rwlock_rdlock`.
    ReadLock = 72,
    /// `pthread_rwlock_tryrdlock`; its value is 0 or the error number.
    TryReadLock = 73,
    /// `pthread_rwlock_timedrdlock` and `clockrdlock`.
    TimedReadLock = 74,
    /// `pthread_rwlock_wrlock`. If the lock prefers writers and is not free, the task begins to
    /// wait: the value is `EBUSY`, and [`Operation::WriteWake`] follows.
    WriteLock = 75,
    /// `pthread_rwlock_trywrlock`; its value is 0 or the error number.
    TryWriteLock = 76,
    /// `pthread_rwlock_timedwrlock` and `clockwrlock`.
    TimedWriteLock = 77,
    /// The end of a writer's wait during which readers are blocked; its value is 0 or `ETIMEDOUT`.
    WriteWake = 78,
    /// `pthread_rwlock_unlock`.
    RwUnlock = 79,
    /// `pthread_barrier_wait`: the task arrives; the last task to arrive releases all.
    BarrierWait = 80,
    /// The end of the wait of all tasks but the last to arrive.
    BarrierPass = 81,
    /// `pthread_spin_lock`.
    SpinLock = 84,
    /// `pthread_spin_trylock`; its value is 0 or the error number.
    SpinTryLock = 85,
    /// `pthread_spin_unlock`.
    SpinUnlock = 86,
    /// `pthread_mutex_destroy`.
    MutexDestroy = 88,
    /// `pthread_cond_destroy`.
    ConditionDestroy = 89,
    /// `sem_destroy`.
    SemDestroy = 90,
    /// `pthread_rwlock_destroy`.
    RwDestroy = 91,
    /// `pthread_barrier_destroy`.
    BarrierDestroy = 92,
    /// `pthread_spin_destroy`.
    SpinDestroy = 93,
    /// `pthread_cancel`; its object is the cancelled task.
    Cancel = 96,
    /// A signal is sent to a task.
    Kill = 97,
    /// A blocked task runs a signal handler.
    Handler = 98,
    /// A wait for a signal: `sigwait`, `sigsuspend` and the like; its value is the signal.
    SignalWait = 99,
    /// A timer expires: it sends a signal, or calls a function.
    Timer = 101,
    /// A timer is set, stopped or read.
    TimerSet = 102,
    /// `pthread_testcancel`.
    TestCancel = 100,
    /// `pthread_mutex_init` and `mtx_init` while other tasks exist.
    MutexInit = 104,
    /// `pthread_cond_init` and `cnd_init` while other tasks exist.
    ConditionInit = 105,
    /// `sem_init` while other tasks exist.
    SemInit = 106,
    /// `pthread_rwlock_init` while other tasks exist.
    RwInit = 107,
    /// `pthread_barrier_init` while other tasks exist.
    BarrierInit = 108,
    /// `pthread_spin_init` while other tasks exist.
    SpinInit = 109,
    /// The task arrives at a site of a predicate (`--when`).
    Site = 112,
    /// The task continues from that site.
    Depart = 113,
}

impl Operation {
    /// The code in records and files. Codes are append-only: none is ever given another meaning.
    #[must_use]
    #[inline]
    pub fn code(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The codes and names under which traces store operations. Lines are added and never changed:
    /// a trace that was recorded once stays readable.
    const CODES: &str = include_str!("codes.txt");

    #[test]
    fn no_operation_has_another_code_than_in_earlier_versions() {
        let listed = CODES.lines().filter_map(|line| line.split_once(' '));
        let listed: BTreeMap<u8, &str> =
            listed.map(|(code, name)| (code.parse().expect("a code is a number"), name)).collect();
        let name = |operation: Operation| format!("{operation:?}");
        for (&code, &known) in &listed {
            let found = Operation::from_code(code).map(name);
            assert_eq!(found.as_deref(), Some(known), "the code {code} of an older trace");
        }
        for &operation in Operation::ALL {
            let code = operation.code();
            assert_eq!(Operation::from_code(code), Some(operation));
            let listed = listed.get(&code).copied();
            assert_eq!(listed, Some(&*name(operation)), "add the code {code} to codes.txt");
        }
        assert_eq!(Operation::from_code(255), None);
        assert_eq!(CODES.lines().count(), Operation::ALL.len(), "a code is listed twice");
    }
}
