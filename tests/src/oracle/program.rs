//! The language of generated programs.
//!
//! A small language with two implementations: it is printed as C ([`super::c`]) and executed by
//! [`super::machine`]. Only [`Call`]s are visible to a scheduler; everything between two calls of
//! one task happens atomically with the first of them.

/// How many local variables every body has. They begin as 0.
pub const LOCALS: usize = 2;

/// A mutex's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MutexKind {
    /// `PTHREAD_MUTEX_INITIALIZER`: locking it twice blocks forever.
    Normal,
    /// Its owner may lock it again.
    Recursive,
    /// A mutex that its owner cannot lock again: the lock returns an error.
    ErrorChecking,
    /// `PTHREAD_MUTEX_ADAPTIVE_NP`: like a normal one.
    Adaptive,
    /// A mutex with protocol `PTHREAD_PRIO_INHERIT`: like a normal one.
    Inheriting,
    /// A task that locks it after its owner ended gets `EOWNERDEAD`.
    Robust,
}

impl MutexKind {
    /// Whether its owner blocks forever when it locks it again.
    #[must_use]
    pub fn waits_for_itself(self) -> bool {
        !matches!(self, MutexKind::Recursive | MutexKind::ErrorChecking)
    }

    /// Whether unlocking by a task that is not its owner is an error.
    #[must_use]
    pub fn refuses_strangers(self) -> bool {
        matches!(self, MutexKind::Recursive | MutexKind::ErrorChecking | MutexKind::Robust)
    }
}

/// The clock of a timeout. The timeout is far in the future, and whether it expires is a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The call that names no clock (`..._timed...`).
    Unnamed,
    /// `CLOCK_REALTIME`, named.
    Realtime,
    /// `CLOCK_MONOTONIC`, named.
    Monotonic,
}

/// The effect of the program's handler of `SIGUSR1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handler {
    /// Installed with `SA_RESTART`.
    pub restarts: bool,
    /// The variable that the handler assigns.
    pub to: Variable,
    /// The value.
    pub value: Value,
}

/// A plain `int`, 0 at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variable {
    /// Global to the program.
    Shared(u8),
    /// A local variable of one task.
    Local(u8),
}

/// A value in an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A number.
    Constant(i32),
    /// The value of a variable.
    Variable(Variable),
}

/// `factor * of + plus`. Factors other than 1 make the order of two updates observable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value {
    /// The number in front, 1 or more.
    pub factor: i32,
    /// The operand that is multiplied.
    pub of: Operand,
    /// The operand that is added.
    pub plus: Operand,
}

/// The comparison of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    AtLeast,
}

/// A condition of an `if` or a `while`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Test {
    /// The left side.
    pub left: Variable,
    /// The comparison of the two sides.
    pub comparison: Comparison,
    /// The right side.
    pub right: i32,
}

/// A visible operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// `pthread_create`. A handle is created at most once in an execution.
    Create {
        /// The index of the variable for the `pthread_t`.
        handle: u8,
        /// What the new task runs: an index into [`Program::bodies`], not 0.
        body: u8,
    },
    /// `pthread_join`.
    Join {
        /// The task to join.
        handle: u8,
    },
    /// `pthread_detach`.
    Detach {
        /// The task to detach.
        handle: u8,
    },
    /// `pthread_mutex_lock`.
    Lock(u8),
    /// `pthread_mutex_trylock`.
    TryLock(u8),
    /// `pthread_mutex_unlock`.
    Unlock(u8),
    /// `pthread_cond_wait`.
    Wait {
        /// The index of the condition variable.
        condition: u8,
        /// With which mutex; always the same one for one condition variable.
        mutex: u8,
    },
    /// `pthread_cond_signal`.
    Signal(u8),
    /// `pthread_cond_broadcast`.
    Broadcast(u8),
    /// `sem_wait`.
    SemWait(u8),
    /// `sem_trywait`.
    SemTryWait(u8),
    /// `sem_post`.
    SemPost(u8),
    /// `sched_yield`.
    Yield,
    /// `pthread_rwlock_rdlock`.
    ReadLock(u8),
    /// `pthread_rwlock_tryrdlock`.
    TryReadLock(u8),
    /// `pthread_rwlock_wrlock`.
    WriteLock(u8),
    /// `pthread_rwlock_trywrlock`.
    TryWriteLock(u8),
    /// `pthread_rwlock_unlock`.
    RwUnlock(u8),
    /// `pthread_barrier_wait`.
    Meet(u8),
    /// `pthread_spin_lock`.
    SpinLock(u8),
    /// `pthread_spin_trylock`.
    SpinTryLock(u8),
    /// `pthread_spin_unlock`.
    SpinUnlock(u8),
    /// `pthread_mutex_timedlock` and `clocklock`.
    TimedLock(u8, Limit),
    /// `sem_timedwait` and `clockwait`.
    SemTimedWait(u8, Limit),
    /// `pthread_rwlock_timedrdlock` and `clockrdlock`.
    TimedReadLock(u8, Limit),
    /// `pthread_rwlock_timedwrlock` and `clockwrlock`.
    TimedWriteLock(u8, Limit),
    /// `pthread_cond_timedwait` and `clockwait`.
    TimedWait {
        /// The index of the condition variable.
        condition: u8,
        /// The index of the mutex.
        mutex: u8,
        /// The time limit.
        limit: Limit,
    },
    /// `pthread_tryjoin_np`; or with a timeout `timedjoin` and `clockjoin`. The handle becomes
    /// invalid if it succeeds.
    TryJoin {
        /// The task to join.
        handle: u8,
        /// The time limit, if there is one.
        limit: Option<Limit>,
    },
    /// `FUTEX_WAIT` on a shared variable.
    FutexWait {
        /// Which.
        word: u8,
        /// The value that it must have for the wait to begin.
        expected: i32,
        /// Whether the wait has a timeout.
        limited: bool,
    },
    /// `FUTEX_WAKE`: one, or all. It returns the number of woken tasks, so it "succeeds" (returns
    /// 0) if no task waited.
    FutexWake {
        /// Which shared variable.
        word: u8,
        /// Whether all.
        all: bool,
    },
    /// `FUTEX_REQUEUE`: wakes one task, and the others wait for another word from then on. It
    /// returns the number of tasks woken and moved.
    FutexRequeue {
        /// Which shared variable.
        word: u8,
        /// The shared variable to which waiters are moved.
        to: u8,
    },
    /// `pthread_cancel`. The task must not be joined, or detached and ended.
    Cancel {
        /// The task to cancel.
        handle: u8,
    },
    /// `pthread_testcancel`.
    TestCancel,
    /// `pthread_kill` with `SIGUSR1`. As for [`Call::Cancel`].
    Kill {
        /// The task to signal.
        handle: u8,
    },
    /// `pthread_once`, which runs [`Program::onces`].
    Once(u8),
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Statement {
    /// An assignment.
    Assign(Variable, Value),
    /// A choice by value.
    If(Test, Vec<Statement>, Vec<Statement>),
    /// A loop by value; used only around a condition wait, where the number of signals bounds it.
    While(Test, Vec<Statement>),
    /// A loop by count.
    Repeat(u8, Vec<Statement>),
    /// A part with a mutex held, which `pthread_cleanup_push` and `pop` release at its end or on
    /// cancellation.
    Guarded(u8, Vec<Statement>),
    /// `pthread_mutex_consistent`, which no other task can observe.
    Consistent(u8),
    /// A visible operation. The local variable, if any, becomes 1 where it returned 0, else 0.
    Call(Call, Option<u8>),
}

impl Statement {
    /// Whether the statement pushes a cleanup handler anywhere.
    #[must_use]
    pub fn guards(&self) -> bool {
        match self {
            Statement::Guarded(..) => true,
            Statement::If(_, then, otherwise) => {
                then.iter().chain(otherwise).any(Statement::guards)
            }
            Statement::While(_, body) | Statement::Repeat(_, body) => {
                body.iter().any(Statement::guards)
            }
            _ => false,
        }
    }
}

/// A whole program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Program {
    /// The mutexes, by type.
    pub mutexes: Vec<MutexKind>,
    /// The number of condition variables.
    pub conditions: u8,
    /// The initial values of the semaphores.
    pub semaphores: Vec<u8>,
    /// The read-write locks, and whether each prefers writers.
    pub rwlocks: Vec<bool>,
    /// For how many tasks each barrier is.
    pub barriers: Vec<u8>,
    /// The number of spin locks.
    pub spins: u8,
    /// The assignment that each `pthread_once_t` runs.
    pub onces: Vec<(Variable, Value)>,
    /// The handler of `SIGUSR1`, if there is one.
    pub handler: Option<Handler>,
    /// Whether the generated C file refers to `pthread_cancel`: then any joining task may be
    /// cancelled, as far as is known in advance.
    pub may_cancel: bool,
    /// Whether the program is printed with the names of C11.
    pub c11: bool,
    /// For each shared variable the modulus with which it counts in the exit status.
    /// invariant: the product is 121 at most.
    pub moduli: Vec<i32>,
    /// The number of `pthread_t` variables.
    pub handles: u8,
    /// The bodies of tasks; 0 is main's.
    pub bodies: Vec<Vec<Statement>>,
}

impl Program {
    /// The exit status for these values of the shared variables.
    #[must_use]
    pub fn status(&self, shared: &[i32]) -> u8 {
        let status = self
            .moduli
            .iter()
            .zip(shared)
            .fold(0, |sum, (&modulus, &value)| sum * modulus + value.rem_euclid(modulus));
        u8::try_from(status).expect("the moduli keep a status small")
    }

    /// Whether C11 has a name for everything that it does.
    #[must_use]
    pub fn fits_c11(&self) -> bool {
        let named = |call| {
            matches!(
                call,
                Call::Create { .. }
                    | Call::Join { .. }
                    | Call::Detach { .. }
                    | Call::Lock(_)
                    | Call::TryLock(_)
                    | Call::TimedLock(..)
                    | Call::Unlock(_)
                    | Call::Wait { .. }
                    | Call::TimedWait { .. }
                    | Call::Signal(_)
                    | Call::Broadcast(_)
                    | Call::Yield
                    | Call::Once(_)
            )
        };
        let known = |kind: &MutexKind| matches!(kind, MutexKind::Normal | MutexKind::Recursive);
        self.mutexes.iter().all(known)
            && !self.bodies.iter().flatten().any(Statement::guards)
            && !self.any_call(|call| !named(call))
    }

    /// Whether only the order of dependent operations matters in it: timeouts, cancellation,
    /// signals and the like are choices that a reduction does not claim to cover.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        !self.rwlocks.contains(&true)
            && !self.mutexes.contains(&MutexKind::Robust)
            && !self.any_call(|call| {
                matches!(
                    call,
                    Call::TimedLock(..)
                        | Call::SemTimedWait(..)
                        | Call::TimedReadLock(..)
                        | Call::TimedWriteLock(..)
                        | Call::TimedWait { .. }
                        | Call::TryJoin { .. }
                        | Call::FutexWait { .. }
                        | Call::FutexRequeue { .. }
                        | Call::Cancel { .. }
                        | Call::Kill { .. }
                )
            })
    }

    /// Whether any call of the program satisfies `which`.
    #[must_use]
    pub fn any_call(&self, mut which: impl FnMut(Call) -> bool) -> bool {
        fn any(statements: &[Statement], which: &mut dyn FnMut(Call) -> bool) -> bool {
            statements.iter().any(|statement| match statement {
                Statement::Assign(..) | Statement::Consistent(_) => false,
                Statement::If(_, then, otherwise) => any(then, which) || any(otherwise, which),
                Statement::While(_, body) | Statement::Repeat(_, body) => any(body, which),
                Statement::Guarded(mutex, body) => which(Call::Unlock(*mutex)) || any(body, which),
                Statement::Call(call, _) => which(*call),
            })
        }
        self.bodies.iter().any(|body| any(body, &mut which))
    }
}
