//! What a step does.

use super::super::code::Instruction;
use super::super::program::{Call, Comparison, LOCALS, MutexKind, Operand, Test, Value, Variable};
use super::{Machine, Misuse, Pending, State, Task};

impl Machine<'_> {
    /// `task`, which is enabled, takes its step, the `way`-th of its [`Machine::ways`].
    ///
    /// # Errors
    /// If the step, or what follows it up to the next, does what must not be done.
    pub fn step(&self, state: &mut State, task: usize, way: u32) -> Result<(), Misuse> {
        match state.tasks[task].pending {
            Pending::Start => {
                state.tasks[task].pending = Pending::Call;
                self.run_on(state, task)
            }
            Pending::Exit => {
                state.tasks[task].pending = Pending::ExitNow;
                Ok(())
            }
            Pending::ExitNow => {
                state.over = true;
                Ok(())
            }
            Pending::Wake => {
                match self.call(state, task) {
                    Call::Wait { mutex, .. } => {
                        state.owners[usize::from(mutex)] = Some((task as u8, 1));
                    }
                    Call::WriteLock(lock) => {
                        let lock = &mut state.rwlocks[usize::from(lock)];
                        lock.waiting.retain(|&waits| usize::from(waits) != task);
                        lock.writer = Some(task as u8);
                    }
                    _ => {}
                }
                state.tasks[task].pending = Pending::Call;
                self.answer(state, task, true)
            }
            Pending::Call => match self.perform(state, task, way)? {
                Some(success) => self.answer(state, task, success),
                None => {
                    state.tasks[task].pending = Pending::Wake;
                    Ok(())
                }
            },
            Pending::Nothing => unreachable!("a task that ended does nothing"),
        }
    }

    /// The effect of a call. None: the call is a wait, and has only begun.
    fn perform(&self, state: &mut State, task: usize, way: u32) -> Result<Option<bool>, Misuse> {
        let me = task as u8;
        Ok(Some(match self.call(state, task) {
            Call::Create { handle, body } => {
                let slot = &mut state.handles[usize::from(handle)];
                if slot.is_some() {
                    return Err(Misuse::Handle);
                }
                *slot = Some((state.tasks.len() as u8, false));
                state.tasks.push(Task {
                    body,
                    at: 0,
                    locals: [0; LOCALS],
                    pending: Pending::Start,
                });
                true
            }
            Call::Lock(mutex) | Call::TryLock(mutex) => {
                let kind = self.kind(mutex);
                let owner = &mut state.owners[usize::from(mutex)];
                match owner {
                    None => {
                        *owner = Some((me, 1));
                        true
                    }
                    Some((holder, count)) if *holder == me && kind == MutexKind::Recursive => {
                        *count += 1;
                        true
                    }
                    Some(_) => false,
                }
            }
            Call::Unlock(mutex) => {
                let kind = self.kind(mutex);
                let owner = &mut state.owners[usize::from(mutex)];
                match owner {
                    Some((holder, count)) if *holder == me => {
                        *count -= 1;
                        if *count == 0 {
                            *owner = None;
                        }
                        true
                    }
                    _ if kind == MutexKind::Normal => return Err(Misuse::Unlock),
                    _ => false,
                }
            }
            Call::Wait { condition, mutex } => {
                if state.owners[usize::from(mutex)] != Some((me, 1)) {
                    return Err(Misuse::Wait);
                }
                state.owners[usize::from(mutex)] = None;
                state.waiting[usize::from(condition)].push(me);
                return Ok(None);
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
            Call::SemWait(semaphore) | Call::SemTryWait(semaphore) => {
                let value = &mut state.semaphores[usize::from(semaphore)];
                let some = *value > 0;
                *value -= u8::from(some);
                some
            }
            Call::SemPost(semaphore) => {
                state.semaphores[usize::from(semaphore)] += 1;
                true
            }
            Call::ReadLock(lock) | Call::TryReadLock(lock) => {
                let readable = self.is_readable(state, lock);
                let readers = &mut state.rwlocks[usize::from(lock)].readers;
                match readers.binary_search_by_key(&me, |&(reader, _)| reader) {
                    _ if !readable => {}
                    Ok(at) => readers[at].1 += 1,
                    Err(at) => readers.insert(at, (me, 1)),
                }
                readable
            }
            Call::WriteLock(lock) | Call::TryWriteLock(lock) => {
                let tries = matches!(self.call(state, task), Call::TryWriteLock(_));
                let writable = Self::is_writable(state, lock);
                let at = &mut state.rwlocks[usize::from(lock)];
                if writable {
                    at.writer = Some(me);
                } else if !tries && at.writer != Some(me) {
                    at.waiting.push(me);
                    at.waiting.sort_unstable();
                    return Ok(None);
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
                    return Ok(None);
                }
                waiting.clear();
                // The last one is told so: not by 0.
                false
            }
            Call::SpinLock(lock) => {
                state.spins[usize::from(lock)] = Some(me);
                true
            }
            Call::SpinUnlock(lock) => {
                if state.spins[usize::from(lock)].take() != Some(me) {
                    return Err(Misuse::Unlock);
                }
                true
            }
            Call::Join { .. } | Call::Detach { .. } | Call::Yield => true,
        }))
    }

    /// The call at which the task stands has returned.
    fn answer(&self, state: &mut State, task: usize, success: bool) -> Result<(), Misuse> {
        let me = &mut state.tasks[task];
        if let Instruction::Call(_, Some(local)) = self.code[usize::from(me.body)][me.at] {
            me.locals[usize::from(local)] = i32::from(success);
        }
        me.at += 1;
        self.run_on(state, task)
    }

    /// Runs the task's own code up to its next operation or its end.
    pub(super) fn run_on(&self, state: &mut State, task: usize) -> Result<(), Misuse> {
        loop {
            let Task { body, at, .. } = state.tasks[task];
            let mut next = at + 1;
            match self.code[usize::from(body)][at] {
                Instruction::Call(Call::Join { handle } | Call::Detach { handle }, _) => {
                    // The argument is read on the way to the call, so here and not in its step.
                    return match &mut state.handles[usize::from(handle)] {
                        Some((_, spent @ false)) => {
                            *spent = true;
                            Ok(())
                        }
                        _ => Err(Misuse::Handle),
                    };
                }
                Instruction::Call(..) => return Ok(()),
                Instruction::Jump(to) => next = to,
                Instruction::Unless(test, to) => {
                    if !holds(state, task, test) {
                        next = to;
                    }
                }
                Instruction::Assign(to, value) => {
                    let value = evaluate(state, task, value);
                    if !(-10_000..=10_000).contains(&value) {
                        return Err(Misuse::Range);
                    }
                    match to {
                        Variable::Shared(index) => state.shared[usize::from(index)] = value,
                        Variable::Local(index) => {
                            state.tasks[task].locals[usize::from(index)] = value;
                        }
                    }
                }
                Instruction::End => {
                    state.tasks[task].pending = Pending::Nothing;
                    if task == 0 {
                        state.status = Some(self.program.status(&state.shared));
                        state.tasks[0].pending = Pending::Exit;
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
