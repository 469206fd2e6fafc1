//! The fragments of bodies.

use super::super::program::{Call, Comparison, MutexKind, Statement, Test, Variable};
use super::Fragment::{
    Acquire, Branch, Cancel, Consume, Critical, Guarded, GuardedConsume, Kill, Meeting, Nested,
    Once, Post, Produce, Reading, Repeat, Requeue, Robust, Rouse, Sleep, Spinning, TestCancel,
    TimedAcquire, TimedConsume, TimedCritical, TimedReading, TimedWriting, Torn, Try, TryAcquire,
    TryReading, TrySpinning, TryWriting, Writing, Yield,
};
use super::{Fragment, Generator, assign};

impl Generator<'_> {
    fn call(&mut self, call: Call) -> Statement {
        self.left -= 1;
        // The result of a call that can fail is sometimes used.
        let varies = matches!(
            call,
            Call::Lock(_) | Call::Unlock(_) | Call::ReadLock(_) | Call::WriteLock(_)
        );
        let odds = if matches!(call, Call::Meet(_)) { 2 } else { 8 };
        let result = ((varies || odds == 2) && self.one_in(odds)).then(|| self.below(2) as u8);
        Statement::Call(call, result)
    }

    pub(super) fn fragment(&mut self, depth: u32) -> Vec<Statement> {
        loop {
            let fragment = self.pick(self.fragments);
            let compound = matches!(
                fragment,
                Critical
                    | Nested
                    | Try
                    | Branch
                    | Repeat
                    | Reading
                    | Writing
                    | Spinning
                    | Robust
                    | Guarded
            );
            if compound && depth == 0 {
                if self.one_in(4) {
                    return vec![self.own_code()];
                }
                continue;
            }
            return self.fragment_of(fragment, depth);
        }
    }

    fn fragment_of(&mut self, fragment: Fragment, depth: u32) -> Vec<Statement> {
        match fragment {
            Critical => {
                let mutex = self.mutex();
                self.critical(mutex, depth)
            }
            Nested => self.nested(depth),
            Try => self.tried(depth),
            Consume => self.consume(),
            Produce => self.produce(),
            Acquire => {
                let semaphore = self.semaphore();
                vec![self.call(Call::SemWait(semaphore)), self.own_code()]
            }
            Post => {
                let semaphore = self.semaphore();
                vec![self.own_code(), self.call(Call::SemPost(semaphore))]
            }
            TryAcquire => {
                let semaphore = self.semaphore();
                let then = vec![self.own_code()];
                let otherwise = if self.one_in(2) { vec![self.own_code()] } else { Vec::new() };
                self.tested(Call::SemTryWait(semaphore), then, otherwise)
            }
            Reading => {
                let lock = self.rwlock();
                self.guarded(Call::ReadLock(lock), Call::RwUnlock(lock), depth)
            }
            Writing => {
                let lock = self.rwlock();
                self.guarded(Call::WriteLock(lock), Call::RwUnlock(lock), depth)
            }
            TryReading | TryWriting => {
                let lock = self.rwlock();
                let call = match fragment {
                    TryReading => Call::TryReadLock(lock),
                    _ => Call::TryWriteLock(lock),
                };
                let then = vec![self.own_code(), self.call(Call::RwUnlock(lock))];
                let otherwise = if self.one_in(2) { vec![self.own_code()] } else { Vec::new() };
                self.tested(call, then, otherwise)
            }
            Meeting => {
                let barrier = self.below(self.program.barriers.len() as u32) as u8;
                vec![self.own_code(), self.call(Call::Meet(barrier)), self.own_code()]
            }
            Spinning => {
                let lock = self.below(u32::from(self.program.spins)) as u8;
                self.guarded(Call::SpinLock(lock), Call::SpinUnlock(lock), depth)
            }
            TrySpinning => {
                let lock = self.below(u32::from(self.program.spins)) as u8;
                let then = vec![self.own_code(), self.call(Call::SpinUnlock(lock))];
                let otherwise = if self.one_in(2) { vec![self.own_code()] } else { Vec::new() };
                self.tested(Call::SpinTryLock(lock), then, otherwise)
            }
            TimedCritical => {
                let (mutex, limit) = (self.mutex(), self.limit());
                let then = vec![self.own_code(), self.call(Call::Unlock(mutex))];
                let otherwise = if self.one_in(2) { vec![self.own_code()] } else { Vec::new() };
                self.tested(Call::TimedLock(mutex, limit), then, otherwise)
            }
            TimedAcquire => {
                let (semaphore, limit) = (self.semaphore(), self.limit());
                let then = vec![self.own_code()];
                let otherwise = if self.one_in(2) { vec![self.own_code()] } else { Vec::new() };
                self.tested(Call::SemTimedWait(semaphore, limit), then, otherwise)
            }
            TimedReading | TimedWriting => {
                let (lock, limit) = (self.rwlock(), self.limit());
                let call = match fragment {
                    TimedReading => Call::TimedReadLock(lock, limit),
                    _ => Call::TimedWriteLock(lock, limit),
                };
                let then = vec![self.own_code(), self.call(Call::RwUnlock(lock))];
                let otherwise = vec![self.own_code()];
                self.tested(call, then, otherwise)
            }
            TimedConsume => self.consume_within_limits(),
            Robust => self.robust(depth),
            Guarded => {
                let mutex = self.mutex();
                self.held.push(mutex);
                let mut inside = vec![self.own_code()];
                inside.extend(self.fragment(depth - 1));
                self.held.pop();
                vec![self.call(Call::Lock(mutex)), Statement::Guarded(mutex, inside)]
            }
            GuardedConsume => self.guarded_consume(),
            Cancel | Kill => {
                // The first task exists whenever there is any.
                let any = self.one_in(3);
                let handle =
                    if any { self.below(u32::from(self.program.handles)) as u8 } else { 0 };
                let call = if fragment == Cancel {
                    Call::Cancel { handle }
                } else {
                    Call::Kill { handle }
                };
                vec![self.call(call)]
            }
            TestCancel => vec![self.own_code(), self.call(Call::TestCancel), self.own_code()],
            Sleep => {
                let word = self.word();
                let expected = self.below(2) as i32;
                let call = Call::FutexWait { word, expected, limited: self.one_in(3) };
                let then = if self.one_in(2) { vec![self.own_code()] } else { Vec::new() };
                let otherwise = vec![self.own_code()];
                self.left -= 1;
                self.tested(call, then, otherwise)
            }
            Rouse => {
                let word = self.word();
                let all = self.one_in(3);
                let to = Variable::Shared(word);
                vec![assign(to, 1, to, 1), self.call(Call::FutexWake { word, all })]
            }
            Requeue => {
                let word = self.word();
                vec![self.call(Call::FutexRequeue { word, to: 1 - word })]
            }
            Once => vec![self.call(Call::Once(0)), self.own_code()],
            Torn => self.torn(),
            Yield => vec![self.call(Call::Yield)],
            Branch => {
                let test = self.test();
                let left = self.left;
                let then = self.fragment(depth - 1);
                // Only one of the two branches is executed.
                let after = self.left;
                let mut otherwise = Vec::new();
                if self.one_in(2) {
                    self.left = left;
                    otherwise = self.fragment(depth - 1);
                }
                self.left = self.left.min(after);
                vec![Statement::If(test, then, otherwise)]
            }
            Repeat => {
                let before = self.left;
                let body = self.fragment(depth - 1);
                let times = 2 + u8::from(self.one_in(4));
                self.left -= (before - self.left) * i32::from(times - 1);
                vec![Statement::Repeat(times, body)]
            }
        }
    }

    /// A robust mutex that an ending task sometimes leaves locked, and that the next owner
    /// sometimes makes consistent.
    fn robust(&mut self, depth: u32) -> Vec<Statement> {
        let mutex = self.mutex();
        let mut section = Vec::new();
        let lock = self.call(Call::Lock(mutex));
        let left = Variable::Local(self.below(2) as u8);
        let test = Test { left, comparison: Comparison::Equal, right: 0 };
        match (lock, left) {
            (Statement::Call(call, _), Variable::Local(local)) if self.one_in(2) => {
                let mut repair = vec![self.own_code()];
                if !self.one_in(3) {
                    repair.push(Statement::Consistent(mutex));
                }
                section.push(Statement::Call(call, Some(local)));
                section.push(Statement::If(test, repair, Vec::new()));
            }
            (lock, _) => section.push(lock),
        }
        self.held.push(mutex);
        section.push(self.own_code());
        if self.left > 2 && self.one_in(3) {
            section.extend(self.fragment(depth - 1));
        }
        self.held.pop();
        if !self.one_in(3) {
            section.push(self.call(Call::Unlock(mutex)));
        }
        section
    }

    /// Waits for a predicate with a timeout.
    fn consume_within_limits(&mut self) -> Vec<Statement> {
        let condition = self.below(u32::from(self.program.conditions)) as u8;
        let mutex = self.mutex_of[usize::from(condition)];
        if self.held.contains(&mutex) {
            return vec![self.own_code()];
        }
        let (limit, local) = (self.limit(), self.below(2) as u8);
        let predicate = Variable::Shared(0);
        let empty = Test { left: predicate, comparison: Comparison::Equal, right: 0 };
        let lock = self.call(Call::Lock(mutex));
        let wait = Statement::Call(Call::TimedWait { condition, mutex, limit }, Some(local));
        let answered = Test { left: Variable::Local(local), ..empty };
        let late = if self.one_in(2) { vec![self.own_code()] } else { Vec::new() };
        self.left -= 2;
        let waiting =
            Statement::If(empty, vec![wait, Statement::If(answered, late, Vec::new())], Vec::new());
        let unlock = self.call(Call::Unlock(mutex));
        vec![lock, waiting, assign(predicate, 1, predicate, -1), unlock]
    }

    /// Waits for a predicate, and releases the mutex when cancelled.
    fn guarded_consume(&mut self) -> Vec<Statement> {
        let condition = self.below(u32::from(self.program.conditions)) as u8;
        let mutex = self.mutex_of[usize::from(condition)];
        if self.held.contains(&mutex) {
            return vec![self.own_code()];
        }
        let predicate = Variable::Shared(0);
        let empty = Test { left: predicate, comparison: Comparison::Equal, right: 0 };
        let lock = self.call(Call::Lock(mutex));
        let limit = self.limit();
        let wait = if self.one_in(3) {
            Call::TimedWait { condition, mutex, limit }
        } else {
            Call::Wait { condition, mutex }
        };
        self.left -= 3;
        let wait = Statement::Call(wait, None);
        let waiting = Statement::If(empty, vec![wait], Vec::new());
        let inside = vec![waiting, assign(predicate, 1, predicate, -1)];
        vec![lock, Statement::Guarded(mutex, inside)]
    }

    fn word(&mut self) -> u8 {
        self.below(self.program.moduli.len().min(2) as u32) as u8
    }

    fn semaphore(&mut self) -> u8 {
        self.below(self.program.semaphores.len() as u32) as u8
    }

    fn rwlock(&mut self) -> u8 {
        self.below(self.program.rwlocks.len() as u32) as u8
    }

    /// A part between two calls.
    fn guarded(&mut self, take: Call, give: Call, depth: u32) -> Vec<Statement> {
        let mut section = vec![self.call(take), self.own_code()];
        if self.left > 2 && self.one_in(3) {
            section.extend(self.fragment(depth - 1));
        }
        if !self.one_in(24) {
            section.push(self.call(give));
        }
        section
    }

    /// A mutex, rarely one that is held.
    fn mutex(&mut self) -> u8 {
        let mutexes = self.program.mutexes.len() as u32;
        let drawn = self.below(mutexes) as u8;
        let again = self.held.contains(&drawn)
            && self.program.mutexes[usize::from(drawn)] == MutexKind::Normal;
        if again && !self.one_in(8) { (drawn + 1) % mutexes as u8 } else { drawn }
    }

    fn critical(&mut self, mutex: u8, depth: u32) -> Vec<Statement> {
        let mut section = vec![self.call(Call::Lock(mutex))];
        self.held.push(mutex);
        section.push(self.own_code());
        if self.left > 2 && self.one_in(3) {
            section.extend(self.fragment(depth - 1));
        }
        self.held.pop();
        if !self.one_in(24) {
            section.push(self.call(Call::Unlock(mutex)));
        }
        section
    }

    /// Nested critical sections of two locks, in any order.
    fn nested(&mut self, depth: u32) -> Vec<Statement> {
        let outer = self.mutex();
        let mut section = vec![self.call(Call::Lock(outer))];
        self.held.push(outer);
        let inner = self.mutex();
        section.extend(self.critical(inner, depth));
        self.held.pop();
        section.push(self.call(Call::Unlock(outer)));
        section
    }

    fn tried(&mut self, depth: u32) -> Vec<Statement> {
        let mutex = self.mutex();
        let mut then = vec![self.own_code()];
        if self.left > 3 && self.one_in(4) {
            self.held.push(mutex);
            then.extend(self.fragment(depth - 1));
            self.held.pop();
        }
        then.push(self.call(Call::Unlock(mutex)));
        let otherwise = if self.one_in(2) { vec![self.own_code()] } else { Vec::new() };
        self.tested(Call::TryLock(mutex), then, otherwise)
    }

    /// A call that succeeds or not, and what is done in either case.
    fn tested(
        &mut self,
        call: Call,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    ) -> Vec<Statement> {
        self.left -= 1;
        let local = self.below(2) as u8;
        let left = Variable::Local(local);
        let test = Test { left, comparison: Comparison::NotEqual, right: 0 };
        vec![Statement::Call(call, Some(local)), Statement::If(test, then, otherwise)]
    }

    /// Waits for a predicate and consumes it, in a loop, with an `if`, or without a test.
    pub(super) fn consume(&mut self) -> Vec<Statement> {
        let condition = self.below(u32::from(self.program.conditions)) as u8;
        let mutex = self.mutex_of[usize::from(condition)];
        let predicate = Variable::Shared(0);
        let empty = Test { left: predicate, comparison: Comparison::Equal, right: 0 };
        let wait = vec![self.call(Call::Wait { condition, mutex })];
        // The second half of a wait is a step too.
        self.left -= 1;
        let waiting = match self.below(8) {
            0..5 => Statement::While(empty, wait),
            5..7 => Statement::If(empty, wait, Vec::new()),
            _ => Statement::Repeat(1, wait),
        };
        let mut taken = vec![assign(predicate, 1, predicate, -1)];
        if self.one_in(2) {
            taken.push(self.own_code());
        }
        // In a section that already holds the mutex, only the wait.
        if self.held.contains(&mutex) {
            return [vec![waiting], taken].concat();
        }
        let lock = self.call(Call::Lock(mutex));
        let unlock = self.call(Call::Unlock(mutex));
        [vec![lock, waiting], taken, vec![unlock]].concat()
    }

    /// Makes the predicate true and signals one or all waiters; the signal is sent after the
    /// unlock, inside the section, or without any lock.
    pub(super) fn produce(&mut self) -> Vec<Statement> {
        let condition = self.below(u32::from(self.program.conditions)) as u8;
        let mutex = self.mutex_of[usize::from(condition)];
        let predicate = Variable::Shared(0);
        let by = 1 + i32::from(self.one_in(4));
        let update = assign(predicate, 1, predicate, by);
        let tell =
            if self.one_in(3) { Call::Broadcast(condition) } else { Call::Signal(condition) };
        let tell = self.call(tell);
        if self.held.contains(&mutex) || self.one_in(3) {
            return if self.one_in(6) { vec![tell, update] } else { vec![update, tell] };
        }
        let lock = self.call(Call::Lock(mutex));
        let unlock = self.call(Call::Unlock(mutex));
        match self.below(3) {
            0 => vec![lock, update, unlock, tell],
            _ => vec![lock, update, tell, unlock],
        }
    }

    /// Reads, allows other tasks to run, and writes.
    fn torn(&mut self) -> Vec<Statement> {
        let (shared, local) = (self.shared(), self.local());
        let mut between = vec![self.call(Call::Yield)];
        if !self.program.semaphores.is_empty() && self.one_in(2) {
            between = vec![Statement::Call(Call::SemPost(self.semaphore()), None)];
        }
        let constant = 1 + self.below(2) as i32;
        let read = assign(local, 1, shared, 0);
        [vec![read], between, vec![assign(shared, 1, local, constant)]].concat()
    }
}
