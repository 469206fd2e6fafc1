//! The effect of a step.

use super::super::code::Instruction;
use super::super::program::{Call, Comparison, MutexKind, Operand, Test, Value, Variable};
use super::{Machine, Misuse, Pending, Robust, State, Task};

/// The result of a call.
enum Done {
    /// It returns; whether with 0.
    Returns(bool),
    /// It returns because its timeout expired.
    TimeUp,
    /// It begins to wait.
    Waits,
    /// Its task is cancelled in it.
    Ends,
}

impl Machine<'_> {
    /// Executes the step of `task`, which is enabled, with the alternative `way` of its
    /// [`Machine::ways`]. Returns whether the call timed out.
    ///
    /// # Errors
    /// If the step, or what follows it up to the next, misuses an object.
    pub fn step(&self, state: &mut State, task: usize, way: u32) -> Result<bool, Misuse> {
        if state.tasks[task].handles() {
            return self.handle(state, task, way).map(|()| false);
        }
        let done = match state.tasks[task].pending {
            Pending::Start => {
                state.tasks[task].pending = Pending::Call;
                if state.tasks[task].signal.take().is_some() {
                    self.run_handler(state, task)?;
                }
                self.run_on(state, task)?;
                return Ok(false);
            }
            Pending::Exit => {
                state.tasks[task].pending = Pending::ExitNow;
                return Ok(false);
            }
            Pending::ExitNow => {
                state.over = true;
                return Ok(false);
            }
            Pending::GiveUp => {
                if let Some(mutex) = state.tasks[task].robust.pop() {
                    state.owners[usize::from(mutex)] = None;
                    state.robust[usize::from(mutex)] = Robust::OwnerDied;
                }
                self.end(state, task);
                return Ok(false);
            }
            Pending::Wake => {
                state.tasks[task].pending = Pending::Call;
                self.wake(state, task)
            }
            Pending::Call => self.perform(state, task, way)?,
            Pending::Nothing => unreachable!("a task that ended does nothing"),
        };
        match done {
            Done::Returns(success) => self.answer(state, task, success)?,
            Done::TimeUp => self.answer(state, task, false)?,
            Done::Waits => state.tasks[task].pending = Pending::Wake,
            Done::Ends => {
                state.tasks[task].ending = true;
                self.unwind(state, task)?;
            }
        }
        Ok(matches!(done, Done::TimeUp))
    }

    /// The second half of a wait.
    fn wake(&self, state: &mut State, task: usize) -> Done {
        let me = task as u8;
        match self.call(state, task) {
            Call::Wait { condition, mutex } | Call::TimedWait { condition, mutex, .. } => {
                let waiting = &mut state.waiting[usize::from(condition)];
                let woken = !waiting.contains(&me) && !state.tasks[task].leaving;
                waiting.retain(|&waits| waits != me);
                let sound = self.take(state, task, mutex);
                match (woken, state.tasks[task].is_due()) {
                    // The task ends while holding the mutex.
                    (false, true) => Done::Ends,
                    (false, false) if sound => Done::TimeUp,
                    _ => Done::Returns(sound),
                }
            }
            Call::WriteLock(lock) | Call::TimedWriteLock(lock, _) => {
                let writable = Self::is_writable(state, lock);
                let lock = &mut state.rwlocks[usize::from(lock)];
                lock.waiting.retain(|&waits| waits != me);
                if !writable {
                    return Done::TimeUp;
                }
                lock.writer = Some(me);
                Done::Returns(true)
            }
            Call::FutexWait { .. } => {
                let woken = !Self::sleeps(state, task);
                state.sleeping.iter_mut().for_each(|on| on.retain(|&sleeps| sleeps != me));
                if woken { Done::Returns(true) } else { Done::TimeUp }
            }
            _ => Done::Returns(true),
        }
    }

    /// Takes a mutex that is free; returns whether its state is consistent.
    fn take(&self, state: &mut State, task: usize, mutex: u8) -> bool {
        let at = usize::from(mutex);
        if state.robust[at] != Robust::Lost {
            state.owners[at] = Some((task as u8, 1));
            if self.kind(mutex) == MutexKind::Robust {
                state.tasks[task].robust.push(mutex);
            }
        }
        state.robust[at] == Robust::Consistent
    }

    /// Sends a signal to this task: records whether it waits in a call, which the signal may
    /// interrupt.
    fn send(&self, state: &mut State, task: usize) {
        let waits = match state.tasks[task].pending {
            Pending::Call => match self.call(state, task) {
                Call::SemWait(semaphore) | Call::SemTimedWait(semaphore, _) => {
                    state.semaphores[usize::from(semaphore)] == 0
                }
                _ => false,
            },
            Pending::Wake => {
                matches!(self.call(state, task), Call::FutexWait { .. })
                    && Self::sleeps(state, task)
            }
            Pending::Nothing | Pending::GiveUp => return,
            _ => false,
        };
        // A second signal before the first is handled is merged with it.
        state.tasks[task].signal.get_or_insert(waits);
    }

    fn run_handler(&self, state: &mut State, task: usize) -> Result<(), Misuse> {
        let handler = self.program.handler.expect("who kills has a handler");
        assign(state, task, handler.to, handler.value)
    }

    /// Whether the signal that a task is about to handle ends its wait if it came in the wait, and does not
    /// if it came just before the call. (A wait on a futex is known to have begun.)
    pub(super) fn may_interrupt(&self, state: &State, task: usize) -> bool {
        state.tasks[task].signal == Some(true)
            && state.tasks[task].pending == Pending::Call
            && !self.is_restarted(state, task)
    }

    /// Whether the call in which the task waits is restarted after the handler. The kernel restarts no wait on a futex
    /// that has a time limit.
    fn is_restarted(&self, state: &State, task: usize) -> bool {
        let is_limited = match self.call(state, task) {
            Call::FutexWait { limited, .. } => limited,
            Call::SemTimedWait(..) => true,
            _ => false,
        };
        self.program.handler.is_some_and(|handler| handler.restarts) && !is_limited
    }

    /// A task at a call, or blocked in it, handles a signal: in the wait, or just before it.
    fn handle(&self, state: &mut State, task: usize, way: u32) -> Result<(), Misuse> {
        let waited = state.tasks[task].signal.take() == Some(true) && way == 0;
        self.run_handler(state, task)?;
        if !waited || self.is_restarted(state, task) {
            return Ok(());
        }
        // A wait that was interrupted before stays interrupted.
        let me = task as u8;
        let woken = state.tasks[task].pending == Pending::Wake && !Self::sleeps(state, task);
        state.sleeping.iter_mut().for_each(|on| on.retain(|&sleeps| sleeps != me));
        state.tasks[task].pending = Pending::Call;
        let call = self.call(state, task);
        if state.tasks[task].is_due() && !matches!(call, Call::FutexWait { .. }) {
            state.tasks[task].ending = true;
            return self.unwind(state, task);
        }
        self.answer(state, task, woken)
    }

    /// The effect of a call.
    fn perform(&self, state: &mut State, task: usize, way: u32) -> Result<Done, Misuse> {
        let me = task as u8;
        let call = self.call(state, task);
        let point = self.is_point(state, task);
        if point && state.tasks[task].is_due() {
            return Ok(Done::Ends);
        }
        Ok(Done::Returns(match call {
            Call::Create { handle, body } => {
                let slot = &mut state.handles[usize::from(handle)];
                if slot.is_some() {
                    return Err(Misuse::Handle);
                }
                *slot = Some((state.tasks.len() as u8, false));
                state.tasks.push(Task::new(body, Pending::Start));
                true
            }
            Call::Lock(mutex) | Call::TryLock(mutex) | Call::TimedLock(mutex, _) => {
                let kind = self.kind(mutex);
                match &mut state.owners[usize::from(mutex)] {
                    None => self.take(state, task, mutex),
                    Some((holder, count)) if *holder == me && kind == MutexKind::Recursive => {
                        *count += 1;
                        true
                    }
                    Some((holder, _)) => {
                        let refused = *holder == me && kind == MutexKind::ErrorChecking;
                        match call {
                            Call::TimedLock(..) if !refused => return Ok(Done::TimeUp),
                            _ => false,
                        }
                    }
                }
            }
            Call::Unlock(mutex) => {
                let kind = self.kind(mutex);
                let owner = &mut state.owners[usize::from(mutex)];
                match owner {
                    Some((holder, count)) if *holder == me => {
                        *count -= 1;
                        if *count == 0 {
                            self.give_back(state, mutex);
                        }
                        true
                    }
                    _ if kind.refuses_strangers() => false,
                    _ => return Err(Misuse::Unlock),
                }
            }
            Call::Wait { condition, mutex } | Call::TimedWait { condition, mutex, .. } => {
                if state.owners[usize::from(mutex)] != Some((me, 1)) {
                    return Err(Misuse::Wait);
                }
                self.give_back(state, mutex);
                state.waiting[usize::from(condition)].push(me);
                return Ok(Done::Waits);
            }
            Call::Signal(condition) => {
                let waiting = &mut state.waiting[usize::from(condition)];
                if !waiting.is_empty() {
                    waiting.remove(way as usize);
                }
                true
            }
            Call::Broadcast(condition) => {
                state.waiting[usize::from(condition)].clear();
                true
            }
            Call::SemWait(semaphore)
            | Call::SemTryWait(semaphore)
            | Call::SemTimedWait(semaphore, _) => {
                let value = &mut state.semaphores[usize::from(semaphore)];
                let some = *value > 0;
                *value -= u8::from(some);
                if !some && matches!(call, Call::SemTimedWait(..)) {
                    return Ok(Done::TimeUp);
                }
                some
            }
            Call::SemPost(semaphore) => {
                state.semaphores[usize::from(semaphore)] += 1;
                true
            }
            Call::ReadLock(lock) | Call::TryReadLock(lock) | Call::TimedReadLock(lock, _) => {
                let readable = self.is_readable(state, lock);
                let readers = &mut state.rwlocks[usize::from(lock)].readers;
                match readers.binary_search_by_key(&me, |&(reader, _)| reader) {
                    _ if !readable => {}
                    Ok(at) => readers[at].1 += 1,
                    Err(at) => readers.insert(at, (me, 1)),
                }
                let holds_write = state.rwlocks[usize::from(lock)].writer == Some(me);
                if !readable && !holds_write && matches!(call, Call::TimedReadLock(..)) {
                    return Ok(Done::TimeUp);
                }
                readable
            }
            Call::WriteLock(lock) | Call::TryWriteLock(lock) | Call::TimedWriteLock(lock, _) => {
                let tries = matches!(call, Call::TryWriteLock(_));
                let writable = Self::is_writable(state, lock);
                let at = &mut state.rwlocks[usize::from(lock)];
                if writable {
                    at.writer = Some(me);
                } else if !tries && at.writer != Some(me) {
                    if !self.program.rwlocks[usize::from(lock)] {
                        // A waiting writer is observable only if it excludes readers.
                        return Ok(Done::TimeUp);
                    }
                    at.waiting.push(me);
                    at.waiting.sort_unstable();
                    return Ok(Done::Waits);
                }
                writable
            }
            Call::RwUnlock(lock) => {
                let at = &mut state.rwlocks[usize::from(lock)];
                if at.writer == Some(me) {
                    at.writer = None;
                } else {
                    let reader = at.readers.iter().position(|&(reader, _)| reader == me);
                    let reader = reader.ok_or(Misuse::Unlock)?;
                    at.readers[reader].1 -= 1;
                    at.readers.retain(|&(_, count)| count > 0);
                }
                true
            }
            Call::Meet(barrier) => {
                let count = self.program.barriers[usize::from(barrier)];
                let waiting = &mut state.barriers[usize::from(barrier)];
                if waiting.len() + 1 < usize::from(count) {
                    waiting.push(me);
                    waiting.sort_unstable();
                    return Ok(Done::Waits);
                }
                waiting.clear();
                // The last task at a barrier gets a value other than 0.
                false
            }
            Call::SpinLock(lock) => {
                state.spins[usize::from(lock)] = Some(me);
                true
            }
            Call::SpinTryLock(lock) => {
                let holder = &mut state.spins[usize::from(lock)];
                let free = holder.is_none();
                holder.get_or_insert(me);
                free
            }
            Call::SpinUnlock(lock) => {
                if state.spins[usize::from(lock)].take() != Some(me) {
                    return Err(Misuse::Unlock);
                }
                true
            }
            Call::TryJoin { handle, limit } => match &mut state.handles[usize::from(handle)] {
                Some((target, spent @ false)) => {
                    *spent = state.tasks[usize::from(*target)].pending == Pending::Nothing;
                    if !*spent && limit.is_some() {
                        return Ok(Done::TimeUp);
                    }
                    *spent
                }
                _ => return Err(Misuse::Handle),
            },
            Call::FutexWait { word, expected, .. } => {
                if state.shared[usize::from(word)] == expected {
                    state.sleeping[usize::from(word)].push(me);
                    return Ok(Done::Waits);
                }
                false
            }
            Call::FutexWake { word, all } => {
                let sleeping = &mut state.sleeping[usize::from(word)];
                let none = sleeping.is_empty();
                if all {
                    sleeping.clear();
                } else if !none {
                    sleeping.remove(way as usize);
                }
                none
            }
            Call::FutexRequeue { word, to } => {
                let mut sleeping = std::mem::take(&mut state.sleeping[usize::from(word)]);
                let none = sleeping.is_empty();
                if !none {
                    sleeping.remove(way as usize);
                }
                state.sleeping[usize::from(to)].extend(sleeping);
                none
            }
            Call::Cancel { handle } => {
                let target = Self::reachable(state, handle)?;
                state.tasks[target].cancelled = true;
                if state.tasks[target].pending == Pending::Wake && state.tasks[target].is_due() {
                    for waiting in &mut state.waiting {
                        let before = waiting.len();
                        waiting.retain(|&waits| usize::from(waits) != target);
                        state.tasks[target].leaving |= waiting.len() < before;
                    }
                }
                true
            }
            Call::Kill { handle } => {
                let target = Self::reachable(state, handle)?;
                self.send(state, target);
                true
            }
            Call::Once(once) => {
                if !std::mem::replace(&mut state.onces[usize::from(once)], true) {
                    let (to, value) = self.program.onces[usize::from(once)];
                    assign(state, task, to, value)?;
                }
                true
            }
            Call::Join { .. } | Call::Detach { .. } | Call::Yield | Call::TestCancel => true,
        }))
    }

    /// The task of a handle that may still be used.
    fn reachable(state: &State, handle: u8) -> Result<usize, Misuse> {
        match state.handles[usize::from(handle)] {
            Some((target, spent)) => {
                let target = usize::from(target);
                let gone = spent && state.tasks[target].pending == Pending::Nothing;
                if gone { Err(Misuse::Handle) } else { Ok(target) }
            }
            None => Err(Misuse::Handle),
        }
    }

    /// Unlocks the mutex.
    fn give_back(&self, state: &mut State, mutex: u8) {
        let at = usize::from(mutex);
        if let Some((owner, _)) = state.owners[at].take() {
            state.tasks[usize::from(owner)].robust.retain(|&held| held != mutex);
        }
        if state.robust[at] == Robust::OwnerDied {
            state.robust[at] = Robust::Lost;
        }
    }

    /// A cancelled task continues with its cleanup handlers, or ends.
    fn unwind(&self, state: &mut State, task: usize) -> Result<(), Misuse> {
        match state.tasks[task].guards.pop() {
            Some(at) => {
                state.tasks[task].at = at;
                state.tasks[task].pending = Pending::Call;
                self.run_on(state, task)
            }
            None => {
                self.end(state, task);
                Ok(())
            }
        }
    }

    /// Ends the task, after it has released the robust mutexes that it holds: one step for each, as
    /// in the kernel.
    fn end(&self, state: &mut State, task: usize) {
        let robust = !state.tasks[task].robust.is_empty();
        state.tasks[task].pending = if robust { Pending::GiveUp } else { Pending::Nothing };
    }

    /// The call of the task has returned.
    fn answer(&self, state: &mut State, task: usize, success: bool) -> Result<(), Misuse> {
        let me = &mut state.tasks[task];
        if let Instruction::Call(_, Some(local)) = self.code[usize::from(me.body)][me.at] {
            me.locals[usize::from(local)] = i32::from(success);
        }
        me.at += 1;
        self.run_on(state, task)
    }

    /// Runs the task's code up to its next operation or its end.
    pub(super) fn run_on(&self, state: &mut State, task: usize) -> Result<(), Misuse> {
        loop {
            let &Task { body, at, .. } = &state.tasks[task];
            let mut next = at + 1;
            match self.code[usize::from(body)][at] {
                Instruction::Call(Call::Join { handle } | Call::Detach { handle }, _) => {
                    // The argument is read before the call, hence here and not in its step.
                    return match &mut state.handles[usize::from(handle)] {
                        Some((_, spent @ false)) => {
                            *spent = true;
                            Ok(())
                        }
                        _ => Err(Misuse::Handle),
                    };
                }
                // A `pthread_once` that has run is not an operation again.
                Instruction::Call(Call::Once(once), local) if state.onces[usize::from(once)] => {
                    if let Some(local) = local {
                        state.tasks[task].locals[usize::from(local)] = 1;
                    }
                }
                // These calls also read their argument before the call, but the handle stays valid.
                Instruction::Call(Call::TryJoin { handle, .. }, _) => {
                    let fit = matches!(state.handles[usize::from(handle)], Some((_, false)));
                    return if fit { Ok(()) } else { Err(Misuse::Handle) };
                }
                Instruction::Call(Call::Cancel { handle } | Call::Kill { handle }, local) => {
                    let target = Self::reachable(state, handle)?;
                    let kills = matches!(self.call(state, task), Call::Kill { .. });
                    if !(kills && target == task) {
                        return Ok(());
                    }
                    // A signal to itself is handled immediately; no other task can observe it.
                    self.run_handler(state, task)?;
                    if let Some(local) = local {
                        state.tasks[task].locals[usize::from(local)] = 1;
                    }
                }
                Instruction::Call(..) => return Ok(()),
                Instruction::Guard(to) => state.tasks[task].guards.push(to),
                Instruction::Unguard => {
                    state.tasks[task].guards.pop();
                }
                Instruction::Unwind => return self.unwind(state, task),
                Instruction::Consistent(mutex) => {
                    let at = usize::from(mutex);
                    let mine =
                        state.owners[at].is_some_and(|(owner, _)| usize::from(owner) == task);
                    if mine && state.robust[at] == Robust::OwnerDied {
                        state.robust[at] = Robust::Consistent;
                    }
                }
                Instruction::Jump(to) => next = to,
                Instruction::Unless(test, to) => {
                    if !holds(state, task, test) {
                        next = to;
                    }
                }
                Instruction::Assign(to, value) => assign(state, task, to, value)?,
                Instruction::End => {
                    if task == 0 {
                        state.status = Some(self.program.status(&state.shared));
                        state.tasks[0].pending = Pending::Exit;
                    } else {
                        self.end(state, task);
                    }
                    return Ok(());
                }
            }
            state.tasks[task].at = next;
        }
    }
}

fn read(state: &State, task: usize, variable: Variable) -> i32 {
    match variable {
        Variable::Shared(index) => state.shared[usize::from(index)],
        Variable::Local(index) => state.tasks[task].locals[usize::from(index)],
    }
}

fn assign(state: &mut State, task: usize, to: Variable, value: Value) -> Result<(), Misuse> {
    let value = evaluate(state, task, value);
    if !(-10_000..=10_000).contains(&value) {
        return Err(Misuse::Range);
    }
    match to {
        Variable::Shared(index) => state.shared[usize::from(index)] = value,
        Variable::Local(index) => state.tasks[task].locals[usize::from(index)] = value,
    }
    Ok(())
}

fn evaluate(state: &State, task: usize, value: Value) -> i32 {
    let operand = |operand| match operand {
        Operand::Constant(constant) => constant,
        Operand::Variable(variable) => read(state, task, variable),
    };
    value.factor * operand(value.of) + operand(value.plus)
}

fn holds(state: &State, task: usize, test: Test) -> bool {
    let left = read(state, task, test.left);
    match test.comparison {
        Comparison::Equal => left == test.right,
        Comparison::NotEqual => left != test.right,
        Comparison::AtLeast => left >= test.right,
    }
}
