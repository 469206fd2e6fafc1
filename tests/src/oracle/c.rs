//! Programs printed as C, many in one file.
//!
//! The globals have external linkage, so that the compiler must assume that any call changes them,
//! and accesses them on the side of each call on which the text has them. (Some of the calls are
//! declared `leaf`; statics could stay in registers across those.)

use super::program::{
    Call, Comparison, LOCALS, Limit, MutexKind, Operand, Program, Statement, Test, Value, Variable,
};
use std::fmt::{self, Write};

/// One C file; its first argument selects the program.
#[must_use]
pub fn print<'a>(programs: impl IntoIterator<Item = &'a Program>) -> String {
    let mut out = String::from(
        "#define _GNU_SOURCE\n\
         #include <linux/futex.h>\n\
         #include <pthread.h>\n\
         #include <sched.h>\n\
         #include <semaphore.h>\n\
         #include <signal.h>\n\
         #include <stdlib.h>\n\
         #include <sys/syscall.h>\n\
         #include <threads.h>\n\
         #include <unistd.h>\n\n\
         // Far ahead by any clock, and a while from now.\n\
         const struct timespec later = {4000000000, 0};\n\
         const struct timespec a_while = {1, 0};\n\n\
         static void unlock(void *mutex) {\n    \
             pthread_mutex_unlock(mutex);\n\
         }\n\n\
         static void init_mutex(pthread_mutex_t *mutex, int robust, int protocol) {\n    \
             pthread_mutexattr_t attributes;\n    \
             pthread_mutexattr_init(&attributes);\n    \
             pthread_mutexattr_setrobust(&attributes, robust);\n    \
             pthread_mutexattr_setprotocol(&attributes, protocol);\n    \
             pthread_mutex_init(mutex, &attributes);\n    \
             pthread_mutexattr_destroy(&attributes);\n\
         }\n\n\
         static void handle(void (*handler)(int), int flags) {\n    \
             struct sigaction action = {.sa_handler = handler, .sa_flags = flags};\n    \
             sigaction(SIGUSR1, &action, NULL);\n\
         }\n\n\
         void *const unused_functions[] = {(void *)unlock, (void *)init_mutex, (void *)handle};\n\n\
         static int digit(int value, int modulus) {\n    \
             int rest = value % modulus;\n    \
             return rest < 0 ? rest + modulus : rest;\n\
         }\n\n",
    );
    let mut count = 0;
    for program in programs {
        Printer { out: &mut out, number: count, depth: 1, c11: program.c11 }
            .program(program)
            .expect("writing to a string");
        count += 1;
    }
    out.push_str("static int (*const programs[])(void) = {");
    for number in 0..count {
        let _ = write!(out, "{}program_{number},", if number % 6 == 0 { "\n    " } else { " " });
    }
    let _ = write!(
        out,
        "\n}};\n\n\
         int main(int argc, char **argv) {{\n    \
             long number = argc > 1 ? strtol(argv[1], NULL, 10) : -1;\n    \
             if (number < 0 || number >= {count})\n        \
                 return 127;\n    \
             exit(programs[number]());\n\
         }}\n"
    );
    out
}

struct Printer<'a> {
    out: &'a mut String,
    number: usize,
    depth: usize,
    c11: bool,
}

impl Printer<'_> {
    fn line(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        writeln!(self.out, "{:1$}{text}", "", self.depth * 4)
    }

    fn program(&mut self, program: &Program) -> fmt::Result {
        let n = self.number;
        let c11 = program.c11;
        for (index, kind) in program.mutexes.iter().enumerate() {
            if c11 {
                writeln!(self.out, "mtx_t p{n}_m{index};")?;
                continue;
            }
            let initial = match kind {
                MutexKind::Normal | MutexKind::Inheriting | MutexKind::Robust => {
                    "PTHREAD_MUTEX_INITIALIZER"
                }
                MutexKind::Adaptive => "PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP",
                MutexKind::Recursive => "PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP",
                MutexKind::ErrorChecking => "PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP",
            };
            writeln!(self.out, "pthread_mutex_t p{n}_m{index} = {initial};")?;
        }
        for index in 0..program.conditions {
            match c11 {
                true => writeln!(self.out, "cnd_t p{n}_c{index};")?,
                false => {
                    writeln!(self.out, "pthread_cond_t p{n}_c{index} = PTHREAD_COND_INITIALIZER;")?;
                }
            }
        }
        for index in 0..program.semaphores.len() {
            writeln!(self.out, "sem_t p{n}_s{index};")?;
        }
        for (index, prefers_writers) in program.rwlocks.iter().enumerate() {
            let initial = match prefers_writers {
                true => "PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP",
                false => "PTHREAD_RWLOCK_INITIALIZER",
            };
            writeln!(self.out, "pthread_rwlock_t p{n}_r{index} = {initial};")?;
        }
        for index in 0..program.barriers.len() {
            writeln!(self.out, "pthread_barrier_t p{n}_a{index};")?;
        }
        for index in 0..program.spins {
            writeln!(self.out, "pthread_spinlock_t p{n}_l{index};")?;
        }
        for index in 0..program.handles {
            let kind = if c11 { "thrd_t" } else { "pthread_t" };
            writeln!(self.out, "{kind} p{n}_t{index};")?;
        }
        for index in 0..program.moduli.len() {
            writeln!(self.out, "int p{n}_x{index};")?;
        }
        for (index, (to, value)) in program.onces.iter().enumerate() {
            let (kind, initial) = match c11 {
                true => ("once_flag", "ONCE_FLAG_INIT"),
                false => ("pthread_once_t", "PTHREAD_ONCE_INIT"),
            };
            writeln!(self.out, "{kind} p{n}_o{index} = {initial};")?;
            let (to, value) = (self.variable(*to), self.value(*value));
            writeln!(self.out, "void p{n}_d{index}(void) {{\n    {to} = {value};\n}}")?;
        }
        if let Some(handler) = program.handler {
            let (to, value) = (self.variable(handler.to), self.value(handler.value));
            writeln!(self.out, "void p{n}_h(int signal) {{")?;
            self.line(format_args!("(void)signal;"))?;
            self.line(format_args!("{to} = {value};"))?;
            writeln!(self.out, "}}")?;
        }
        let returned = if c11 { "int " } else { "void *" };
        // A body may create a task whose body is defined before it.
        for index in 1..program.bodies.len() {
            writeln!(self.out, "{returned}p{n}_b{index}(void *);")?;
        }
        for (index, body) in program.bodies.iter().enumerate().skip(1) {
            writeln!(self.out, "{returned}p{n}_b{index}(void *unused) {{")?;
            self.line(format_args!("(void)unused;"))?;
            self.body(body)?;
            self.line(format_args!("return {};", if c11 { "0" } else { "NULL" }))?;
            writeln!(self.out, "}}")?;
        }
        writeln!(self.out, "int program_{n}(void) {{")?;
        for (index, kind) in program.mutexes.iter().enumerate() {
            match kind {
                MutexKind::Recursive if c11 => {
                    self.line(format_args!("mtx_init(&p{n}_m{index}, mtx_timed | mtx_recursive);"))?
                }
                _ if c11 => self.line(format_args!("mtx_init(&p{n}_m{index}, mtx_timed);"))?,
                MutexKind::Robust => self.line(format_args!(
                    "init_mutex(&p{n}_m{index}, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);"
                ))?,
                MutexKind::Inheriting => self.line(format_args!(
                    "init_mutex(&p{n}_m{index}, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);"
                ))?,
                _ => {}
            }
        }
        for index in (0..program.conditions).filter(|_| c11) {
            self.line(format_args!("cnd_init(&p{n}_c{index});"))?;
        }
        if let Some(handler) = program.handler {
            let flags = if handler.restarts { "SA_RESTART" } else { "0" };
            self.line(format_args!("handle(p{n}_h, {flags});"))?;
        }
        for (index, value) in program.semaphores.iter().enumerate() {
            self.line(format_args!("sem_init(&p{n}_s{index}, 0, {value});"))?;
        }
        for (index, count) in program.barriers.iter().enumerate() {
            self.line(format_args!("pthread_barrier_init(&p{n}_a{index}, NULL, {count});"))?;
        }
        for index in 0..program.spins {
            self.line(format_args!("pthread_spin_init(&p{n}_l{index}, 0);"))?;
        }
        self.body(&program.bodies[0])?;
        let status =
            program.moduli.iter().enumerate().fold(String::from("0"), |sum, (index, modulus)| {
                match index {
                    0 => format!("digit(p{n}_x0, {modulus})"),
                    _ => format!("({sum}) * {modulus} + digit(p{n}_x{index}, {modulus})"),
                }
            });
        self.line(format_args!("return {status};"))?;
        writeln!(self.out, "}}\n")
    }

    fn body(&mut self, body: &[Statement]) -> fmt::Result {
        // The function may be re-entered at a pushed cleanup handler.
        let guards = body.iter().any(Statement::guards);
        for local in 0..LOCALS {
            let qualifier = if guards { "volatile " } else { "" };
            self.line(format_args!("{qualifier}int l{local} = 0;"))?;
        }
        for local in 0..LOCALS {
            self.line(format_args!("(void)l{local};"))?;
        }
        self.statements(body)
    }

    fn block(&mut self, body: &[Statement]) -> fmt::Result {
        self.depth += 1;
        self.statements(body)?;
        self.depth -= 1;
        Ok(())
    }

    fn statements(&mut self, body: &[Statement]) -> fmt::Result {
        for statement in body {
            match statement {
                Statement::Assign(to, value) => {
                    let (to, value) = (self.variable(*to), self.value(*value));
                    self.line(format_args!("{to} = {value};"))?;
                }
                Statement::Call(call, result) => {
                    let call = self.call(*call);
                    match result {
                        Some(local) => self.line(format_args!("l{local} = {call} == 0;"))?,
                        None => self.line(format_args!("{call};"))?,
                    }
                }
                Statement::Guarded(mutex, body) => {
                    let mutex = format!("&p{}_m{mutex}", self.number);
                    self.line(format_args!("pthread_cleanup_push(unlock, {mutex});"))?;
                    self.statements(body)?;
                    self.line(format_args!("pthread_cleanup_pop(1);"))?;
                }
                Statement::Consistent(mutex) => {
                    let mutex = format!("&p{}_m{mutex}", self.number);
                    self.line(format_args!("pthread_mutex_consistent({mutex});"))?;
                }
                Statement::If(test, then, otherwise) => {
                    let test = self.test(*test);
                    self.line(format_args!("if ({test}) {{"))?;
                    self.block(then)?;
                    if !otherwise.is_empty() {
                        self.line(format_args!("}} else {{"))?;
                        self.block(otherwise)?;
                    }
                    self.line(format_args!("}}"))?;
                }
                Statement::While(test, body) => {
                    let test = self.test(*test);
                    self.line(format_args!("while ({test}) {{"))?;
                    self.block(body)?;
                    self.line(format_args!("}}"))?;
                }
                Statement::Repeat(times, body) => {
                    let i = format!("i{}", self.depth);
                    self.line(format_args!("for (int {i} = 0; {i} < {times}; {i}++) {{"))?;
                    self.block(body)?;
                    self.line(format_args!("}}"))?;
                }
            }
        }
        Ok(())
    }

    fn variable(&self, variable: Variable) -> String {
        match variable {
            Variable::Shared(index) => format!("p{}_x{index}", self.number),
            Variable::Local(index) => format!("l{index}"),
        }
    }

    fn value(&self, value: Value) -> String {
        let operand = |operand| match operand {
            Operand::Constant(constant) => constant.to_string(),
            Operand::Variable(variable) => self.variable(variable),
        };
        let (of, plus) = (operand(value.of), operand(value.plus));
        let product = if value.factor == 1 { of } else { format!("{} * {of}", value.factor) };
        if value.plus == Operand::Constant(0) { product } else { format!("{product} + {plus}") }
    }

    fn test(&self, test: Test) -> String {
        let sign = match test.comparison {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::AtLeast => ">=",
        };
        format!("{} {sign} {}", self.variable(test.left), test.right)
    }

    fn call(&self, call: Call) -> String {
        let n = self.number;
        if self.c11 {
            return self.c11_call(call);
        }
        match call {
            Call::Create { handle, body } => {
                format!("pthread_create(&p{n}_t{handle}, NULL, p{n}_b{body}, NULL)")
            }
            Call::Join { handle } => format!("pthread_join(p{n}_t{handle}, NULL)"),
            Call::Detach { handle } => format!("pthread_detach(p{n}_t{handle})"),
            Call::Lock(mutex) => format!("pthread_mutex_lock(&p{n}_m{mutex})"),
            Call::TryLock(mutex) => format!("pthread_mutex_trylock(&p{n}_m{mutex})"),
            Call::Unlock(mutex) => format!("pthread_mutex_unlock(&p{n}_m{mutex})"),
            Call::Wait { condition, mutex } => {
                format!("pthread_cond_wait(&p{n}_c{condition}, &p{n}_m{mutex})")
            }
            Call::Signal(condition) => format!("pthread_cond_signal(&p{n}_c{condition})"),
            Call::Broadcast(condition) => format!("pthread_cond_broadcast(&p{n}_c{condition})"),
            Call::SemWait(semaphore) => format!("sem_wait(&p{n}_s{semaphore})"),
            Call::SemTryWait(semaphore) => format!("sem_trywait(&p{n}_s{semaphore})"),
            Call::SemPost(semaphore) => format!("sem_post(&p{n}_s{semaphore})"),
            Call::Yield => "sched_yield()".to_owned(),
            Call::ReadLock(lock) => format!("pthread_rwlock_rdlock(&p{n}_r{lock})"),
            Call::TryReadLock(lock) => format!("pthread_rwlock_tryrdlock(&p{n}_r{lock})"),
            Call::WriteLock(lock) => format!("pthread_rwlock_wrlock(&p{n}_r{lock})"),
            Call::TryWriteLock(lock) => format!("pthread_rwlock_trywrlock(&p{n}_r{lock})"),
            Call::RwUnlock(lock) => format!("pthread_rwlock_unlock(&p{n}_r{lock})"),
            Call::Meet(barrier) => format!("pthread_barrier_wait(&p{n}_a{barrier})"),
            Call::SpinLock(lock) => format!("pthread_spin_lock(&p{n}_l{lock})"),
            Call::SpinTryLock(lock) => format!("pthread_spin_trylock(&p{n}_l{lock})"),
            Call::SpinUnlock(lock) => format!("pthread_spin_unlock(&p{n}_l{lock})"),
            Call::TimedLock(mutex, limit) => {
                limited("pthread_mutex", "lock", format!("&p{n}_m{mutex}"), limit)
            }
            Call::SemTimedWait(semaphore, limit) => {
                limited("sem", "wait", format!("&p{n}_s{semaphore}"), limit)
            }
            Call::TimedReadLock(lock, limit) => {
                limited("pthread_rwlock", "rdlock", format!("&p{n}_r{lock}"), limit)
            }
            Call::TimedWriteLock(lock, limit) => {
                limited("pthread_rwlock", "wrlock", format!("&p{n}_r{lock}"), limit)
            }
            Call::TimedWait { condition, mutex, limit } => limited(
                "pthread_cond",
                "wait",
                format!("&p{n}_c{condition}, &p{n}_m{mutex}"),
                limit,
            ),
            Call::TryJoin { handle, limit: None } => {
                format!("pthread_tryjoin_np(p{n}_t{handle}, NULL)")
            }
            Call::TryJoin { handle, limit: Some(Limit::Unnamed) } => {
                format!("pthread_timedjoin_np(p{n}_t{handle}, NULL, &later)")
            }
            Call::TryJoin { handle, limit: Some(limit) } => {
                format!("pthread_clockjoin_np(p{n}_t{handle}, NULL, {}, &later)", clock(limit))
            }
            Call::FutexWait { word, expected, limited } => {
                let time = if limited { "&a_while" } else { "NULL" };
                format!(
                    "syscall(SYS_futex, &p{n}_x{word}, FUTEX_WAIT, {expected}, {time}, NULL, 0)"
                )
            }
            Call::FutexWake { word, all } => {
                let most = if all { i32::MAX } else { 1 };
                format!("syscall(SYS_futex, &p{n}_x{word}, FUTEX_WAKE, {most}, NULL, NULL, 0)")
            }
            Call::FutexRequeue { word, to } => format!(
                "syscall(SYS_futex, &p{n}_x{word}, FUTEX_REQUEUE, 1, {}L, &p{n}_x{to}, 0)",
                i32::MAX
            ),
            Call::Cancel { handle } => format!("pthread_cancel(p{n}_t{handle})"),
            Call::TestCancel => "pthread_testcancel()".to_owned(),
            Call::Kill { handle } => format!("pthread_kill(p{n}_t{handle}, SIGUSR1)"),
            Call::Once(once) => format!("pthread_once(&p{n}_o{once}, p{n}_d{once})"),
        }
    }

    /// The same with its C11 name.
    fn c11_call(&self, call: Call) -> String {
        let n = self.number;
        match call {
            Call::Create { handle, body } => {
                format!("thrd_create(&p{n}_t{handle}, p{n}_b{body}, NULL)")
            }
            Call::Join { handle } => format!("thrd_join(p{n}_t{handle}, NULL)"),
            Call::Detach { handle } => format!("thrd_detach(p{n}_t{handle})"),
            Call::Lock(mutex) => format!("mtx_lock(&p{n}_m{mutex})"),
            Call::TryLock(mutex) => format!("mtx_trylock(&p{n}_m{mutex})"),
            Call::TimedLock(mutex, _) => format!("mtx_timedlock(&p{n}_m{mutex}, &later)"),
            Call::Unlock(mutex) => format!("mtx_unlock(&p{n}_m{mutex})"),
            Call::Wait { condition, mutex } => {
                format!("cnd_wait(&p{n}_c{condition}, &p{n}_m{mutex})")
            }
            Call::TimedWait { condition, mutex, .. } => {
                format!("cnd_timedwait(&p{n}_c{condition}, &p{n}_m{mutex}, &later)")
            }
            Call::Signal(condition) => format!("cnd_signal(&p{n}_c{condition})"),
            Call::Broadcast(condition) => format!("cnd_broadcast(&p{n}_c{condition})"),
            Call::Yield => "thrd_yield()".to_owned(),
            Call::Once(once) => format!("call_once(&p{n}_o{once}, p{n}_d{once})"),
            other => unreachable!("C11 has no {other:?}"),
        }
    }
}

fn clock(limit: Limit) -> &'static str {
    match limit {
        Limit::Monotonic => "CLOCK_MONOTONIC",
        _ => "CLOCK_REALTIME",
    }
}

/// A call with a timeout: `..._timed...`, or `..._clock...` if a clock is named.
fn limited(of: &str, what: &str, arguments: String, limit: Limit) -> String {
    match limit {
        Limit::Unnamed => format!("{of}_timed{what}({arguments}, &later)"),
        named => format!("{of}_clock{what}({arguments}, {}, &later)", clock(named)),
    }
}
