//! The fragments of which bodies are made.

use super::super::program::{Call, Comparison, MutexKind, Statement, Test, Variable};
use super::Fragment::{
    Acquire, Branch, Consume, Critical, Meeting, Nested, Post, Produce, Reading, Repeat, Spinning,
    Torn, Try, TryAcquire, TryReading, TryWriting, Writing, Yield,
};
use super::{Fragment, Generator, assign};

impl Generator<'_> {
    fn call(&mut self, call: Call) -> Statement {
        self.left -= 1;
        // What a call answers is used now and then, where it is not always the same.
        let tells = matches!(
            call,
            Call::Lock(_) | Call::Unlock(_) | Call::ReadLock(_) | Call::WriteLock(_)
        );
        let odds = if matches!(call, Call::Meet(_)) { 2 } else { 8 };
        let result = ((tells || odds == 2) && self.one_in(odds)).then(|| self.below(2) as u8);
        Statement::Call(call, result)
    }

    pub(super) fn fragment(&mut self, depth: u32) -> Vec<Statement> {
        loop {
            let fragment = self.pick(self.fragments);
            let compound = matches!(
                fragment,
                Critical | Nested | Try | Branch | Repeat | Reading | Writing | Spinning
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
            Torn => self.torn(),
            Yield => vec![self.call(Call::Yield)],
            Branch => {
                let test = self.test();
                let left = self.left;
                let then = self.fragment(depth - 1);
                // Only one of the two is executed.
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

    fn semaphore(&mut self) -> u8 {
        self.below(self.program.semaphores.len() as u32) as u8
    }

    fn rwlock(&mut self) -> u8 {
        self.below(self.program.rwlocks.len() as u32) as u8
    }

    /// Something between two calls.
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

    /// One lock in another, in any order.
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

    /// Waits for a predicate and takes something away, in a loop, with an `if`, or blindly.
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
        // Inside a section that holds the mutex already, only the wait.
        if self.held.contains(&mutex) {
            return [vec![waiting], taken].concat();
        }
        let lock = self.call(Call::Lock(mutex));
        let unlock = self.call(Call::Unlock(mutex));
        [vec![lock, waiting], taken, vec![unlock]].concat()
    }

    /// Makes the predicate true and tells one or all; the signal after the unlock, in it, or with
    /// no lock at all.
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

    /// Reads, lets others in between, and writes.
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
