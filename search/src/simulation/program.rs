//! The small abstract programs that the interpreter runs.

use crate::time::Slack;

/// A number, or the content of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Is(i64),
    /// The content of a register of the task.
    Register(usize),
}

/// The index of a variable, mutex or the like: a number, plus the content of a register if there is
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At(pub usize, pub Option<usize>);

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// `==`
    Equal,
    /// `!=`
    Differ,
    /// `<`
    Less,
}

/// One instruction of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Register = variable.
    Load(usize, At),
    /// Variable = value.
    Store(At, Value),
    /// Register = variable, variable += value, atomically.
    FetchAdd(usize, At, Value),
    /// Variable += the number, atomically.
    Add(At, i64),
    /// Variable += the number, which is 1 or -1, atomically; register = 0 if it is positive then, else 2.
    Count(usize, At, i64),
    /// Register = variable, variable = value, atomically.
    Exchange(usize, At, Value),
    /// Register = variable; if it equals the first value, variable = the second; atomically.
    CompareSwap(usize, At, Value, Value),
    /// Locks a mutex.
    Lock(At),
    /// Register = whether the mutex was free, and is now locked.
    TryLock(usize, At),
    /// Register = whether a task holds a mutex: a read of its memory.
    Peek(usize, At),
    /// Unlocks a mutex.
    Unlock(At),
    /// Waits on a condition variable with a mutex.
    Wait(usize, usize),
    /// Like `Wait`, but at most for a time; register = whether the time passed.
    TimedWait(usize, usize, usize, u64),
    /// Like `Lock`, but at most for a time; register = whether the time passed.
    TimedLock(usize, At, u64),
    /// Like `Take`, but at most for a time; register = whether the time passed.
    TimedTake(usize, usize, u64),
    /// Waits on a variable as on a futex while it has a value, and at most for a time; register = 0 if the
    /// task was woken, 1 if the time passed, 2 if the variable had another value.
    FutexWait(usize, usize, Value, u64),
    /// Wakes the tasks that wait on a variable.
    FutexWake(usize),
    /// Waits until a variable is not 0, as for a descriptor that is ready.
    Ready(Wanted),
    /// The same without waiting, as for a transfer that may be refused: gets 0 where all are 0.
    Transfer(Wanted),
    /// Writes this many bytes to a stream.
    Send(usize, u64),
    /// Register = how many bytes, at most this many, a read of a stream returns: it waits while the stream is empty,
    /// and returns 0 once no end is left through which bytes are written.
    Receive(usize, usize, u64),
    /// Closes an end of a stream through which bytes are written.
    Shut(usize),
    /// Sleeps for a time.
    Sleep(u64),
    /// Register = variable, variable = 0, without waiting, as a read of a timer's descriptor that may be refused.
    ReadNow(usize, usize),
    /// Waits until the signal is pending and takes it, as a read of a `signalfd` does, or `sigtimedwait` if there is a
    /// time limit; register = 0 if the task took it, 1 if the time passed, 2 if a handler ended the wait.
    SignalWait(usize, Option<u64>),
    /// Waits until a handler has run.
    Pause,
    /// Arms the timer, which is then due after the first time and, unless the second is 0, after each interval of
    /// that length. The next instruction creates the task that expires, which is the second number.
    Arm(usize, usize, [u64; 2]),
    /// Disarms the timer.
    Disarm(usize),
    /// The timer expires. Its task ends if the timer was armed again or disarmed meanwhile.
    Expire(usize),
    /// The timer's task expires once more if the timer has an interval, and else ends. No step.
    Again,
    /// Register = the time since the start, in microseconds. No step.
    Now(usize),
    /// Wakes the task that has waited longest.
    Signal(usize),
    /// Wakes all waiting tasks.
    Broadcast(usize),
    /// Decrements a semaphore, which is a variable.
    Take(usize),
    /// Increments a semaphore.
    Post(usize),
    /// Creates the task.
    Create(usize),
    /// Joins the task.
    Join(usize),
    /// Yields.
    Yield,
    /// Ends the process.
    Exit,
    /// Register = value + value. No step.
    Sum(usize, Value, Value),
    /// Register = value modulo value. No step.
    Remainder(usize, Value, Value),
    /// Continues at the instruction. No step.
    Jump(usize),
    /// Continues at the instruction if the comparison holds. No step.
    If(Value, Compare, Value, usize),
    /// A failed assertion: the execution ends.
    Fail,
    /// Ends the task.
    End,
}

/// What a task waits for as for descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Gets the value of the first variable that is not 0, or 0 if the time passed.
    pub register: usize,
    /// The variables, of which one has to be other than 0.
    pub of: [usize; 2],
    /// Whether the task sets that variable to 0.
    pub takes: bool,
    /// How long it waits at most.
    pub limit: Option<u64>,
}

/// What a timer does when it expires, in the same step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Nothing: what follows in its task's code is the function that it calls.
    Call,
    /// Increments the variable, which is the count of its descriptor.
    Count(usize),
    /// Sends the signal to the process.
    Process,
    /// Sends the signal to the task.
    Task(usize),
}

/// A program: the code of main and of the tasks that it creates, each with the initial value of its
/// first register.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The code that tasks execute.
    pub code: Vec<Vec<Code>>,
    /// For each task the index of its code and its argument; task 0 is main.
    pub tasks: Vec<(usize, i64)>,
    /// The initial values of the variables.
    pub variables: Vec<i64>,
    /// The number of mutexes.
    pub mutexes: usize,
    /// The number of condition variables.
    pub conditions: usize,
    /// For each stream, through how many ends bytes are written.
    pub streams: Vec<usize>,
    /// For each timer, what it does when it expires.
    pub timers: Vec<Notice>,
    /// The code that handles the signal, in which no register is set. Without, all tasks block the signal.
    pub handler: Option<usize>,
    /// Whether a wait that the handler interrupted is restarted if it may be.
    pub restarts: bool,
    /// The most steps of an execution.
    pub max_steps: u64,
    /// How late a step may be by its task's clock.
    pub slack: Slack,
    /// Whether main runs only when no other task can.
    pub main_last: bool,
    /// Whether the order of updates that count is not observed, and loops that change nothing by locks or updates are
    /// not recognised. (Whether an iteration leaves a counter as it found it depends on that order.)
    pub counts: bool,
}

impl Program {
    /// Whether the program does anything that depends on time.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        let is = |code: &Code| {
            matches!(
                code,
                Code::TimedWait(..)
                    | Code::TimedLock(..)
                    | Code::TimedTake(..)
                    | Code::FutexWait(..)
                    | Code::Ready(Wanted { limit: Some(_), .. })
                    | Code::Sleep(_)
                    | Code::Now(_)
                    | Code::Arm(..)
                    | Code::SignalWait(_, Some(_))
            )
        };
        self.code.iter().flatten().any(is)
    }
}
