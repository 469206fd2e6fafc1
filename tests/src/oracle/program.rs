//! What a generated program is made of.
//!
//! A small language with the same meaning twice: printed as C ([`super::c`]) and executed by
//! [`super::machine`]. Only [`Call`]s are visible to a scheduler; everything between two calls of
//! one task happens together with the first of them.

/// How many local variables every body has. They begin as 0.
pub const LOCALS: usize = 2;

/// A mutex's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MutexKind {
    /// `PTHREAD_MUTEX_INITIALIZER`: locking it twice waits for ever.
    Normal,
    /// Its owner may lock it again.
    Recursive,
    /// Its owner is told when it locks it again.
    ErrorChecking,
}

/// A plain `int`, 0 at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Variable {
    /// Global to the program.
    Shared(u8),
    /// Of one task.
    Local(u8),
}

/// What stands in an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A number.
    Constant(i32),
    /// The value of a variable.
    Variable(Variable),
}

/// `factor * of + plus`. Factors other than 1 make the order of two updates show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value {
    /// The number in front, 1 or more.
    pub factor: i32,
    /// What it multiplies.
    pub of: Operand,
    /// What is added.
    pub plus: Operand,
}

/// What a test compares by.
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
    /// What must hold between the sides.
    pub comparison: Comparison,
    /// The right side.
    pub right: i32,
}

/// A visible operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// `pthread_create`. A handle is created at most once in an execution.
    Create {
        /// Where the `pthread_t` goes.
        handle: u8,
        /// What the new task runs: an index into [`Program::bodies`], not 0.
        body: u8,
    },
    /// `pthread_join`.
    Join {
        /// Whom.
        handle: u8,
    },
    /// `pthread_detach`.
    Detach {
        /// Whom.
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
        /// Which condition variable.
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
    /// `pthread_spin_unlock`.
    SpinUnlock(u8),
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Statement {
    /// An assignment.
    Assign(Variable, Value),
    /// A choice by value.
    If(Test, Vec<Statement>, Vec<Statement>),
    /// A loop by value; used only round a condition wait, where the number of signals bounds it.
    While(Test, Vec<Statement>),
    /// A loop by count.
    Repeat(u8, Vec<Statement>),
    /// A visible operation. The local variable, if any, becomes 1 where it returned 0, else 0.
    Call(Call, Option<u8>),
}

/// A whole program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Program {
    /// The mutexes, by type.
    pub mutexes: Vec<MutexKind>,
    /// How many condition variables there are.
    pub conditions: u8,
    /// The initial values of the semaphores.
    pub semaphores: Vec<u8>,
    /// The read-write locks, and whether each prefers writers.
    pub rwlocks: Vec<bool>,
    /// For how many tasks each barrier is.
    pub barriers: Vec<u8>,
    /// How many spin locks there are.
    pub spins: u8,
    /// For each shared variable the modulus with which it counts in the exit status.
    /// invariant: the product is 121 at most.
    pub moduli: Vec<i32>,
    /// How many `pthread_t` there are.
    pub handles: u8,
    /// What tasks run; 0 is main's.
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

    /// Whether any call of the program satisfies `which`.
    #[must_use]
    pub fn any_call(&self, mut which: impl FnMut(Call) -> bool) -> bool {
        fn any(statements: &[Statement], which: &mut dyn FnMut(Call) -> bool) -> bool {
            statements.iter().any(|statement| match statement {
                Statement::Assign(..) => false,
                Statement::If(_, then, otherwise) => any(then, which) || any(otherwise, which),
                Statement::While(_, body) | Statement::Repeat(_, body) => any(body, which),
                Statement::Call(call, _) => which(*call),
            })
        }
        self.bodies.iter().any(|body| any(body, &mut which))
    }
}
