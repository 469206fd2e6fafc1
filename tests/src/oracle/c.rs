//! Programs printed as C, many in one file.
//!
//! The globals have external linkage: what a call may change then is for the linker to know, so
//! that the compiler reads and writes them on the side of each call on which the text has them
//! (some of the calls are declared `leaf`, and statics could be kept in registers across those).

use super::program::{
    Call, Comparison, LOCALS, MutexKind, Operand, Program, Statement, Test, Value, Variable,
};
use std::fmt::{self, Write};

/// One C file; its first argument selects the program.
#[must_use]
pub fn print<'a>(programs: impl IntoIterator<Item = &'a Program>) -> String {
    let mut out = String::from(
        "#define _GNU_SOURCE\n\
         #include <pthread.h>\n\
         #include <sched.h>\n\
         #include <semaphore.h>\n\
         #include <stdlib.h>\n\n\
         static int digit(int value, int modulus) {\n    \
             int rest = value % modulus;\n    \
             return rest < 0 ? rest + modulus : rest;\n\
         }\n\n",
    );
    let mut count = 0;
    for program in programs {
        Printer { out: &mut out, number: count, depth: 1 }
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
}

impl Printer<'_> {
    fn line(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        writeln!(self.out, "{:1$}{text}", "", self.depth * 4)
    }

    fn program(&mut self, program: &Program) -> fmt::Result {
        let n = self.number;
        for (index, kind) in program.mutexes.iter().enumerate() {
            let initial = match kind {
                MutexKind::Normal => "PTHREAD_MUTEX_INITIALIZER",
                MutexKind::Recursive => "PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP",
                MutexKind::ErrorChecking => "PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP",
            };
            writeln!(self.out, "pthread_mutex_t p{n}_m{index} = {initial};")?;
        }
        for index in 0..program.conditions {
            writeln!(self.out, "pthread_cond_t p{n}_c{index} = PTHREAD_COND_INITIALIZER;")?;
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
            writeln!(self.out, "pthread_t p{n}_t{index};")?;
        }
        for index in 0..program.moduli.len() {
            writeln!(self.out, "int p{n}_x{index};")?;
        }
        // A body may create another one that comes before it.
        for index in 1..program.bodies.len() {
            writeln!(self.out, "void *p{n}_b{index}(void *);")?;
        }
        for (index, body) in program.bodies.iter().enumerate().skip(1) {
            writeln!(self.out, "void *p{n}_b{index}(void *unused) {{")?;
            self.line(format_args!("(void)unused;"))?;
            self.body(body)?;
            self.line(format_args!("return NULL;"))?;
            writeln!(self.out, "}}")?;
        }
        writeln!(self.out, "int program_{n}(void) {{")?;
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
        for local in 0..LOCALS {
            self.line(format_args!("int l{local} = 0;"))?;
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
            Call::SpinUnlock(lock) => format!("pthread_spin_unlock(&p{n}_l{lock})"),
        }
    }
}
