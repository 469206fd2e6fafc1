//! Timers, the signal that they send, and its handler, as the runtime has them.
//!
//! An armed timer is a task with one operation, its expiration. A signal for a task replaces the task's next
//! operation: the steps of the handler come first. Then the task continues with what it was about to do, unless the
//! handler ended its wait.

use super::signals::{Alert, Interrupted, Timer};
use super::{Machine, Task, TaskState};
use crate::simulation::program::{Code, Notice, Wanted};
use crate::time;
use traces::TaskId;

/// The register of a timer's task that says whether the timer has an interval.
const AGAIN: usize = 6;

/// Which handlers end a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Never,
    UnlessRestarted,
    Always,
}

impl Machine<'_> {
    /// Arms a timer, whose next task is `with`.
    pub(super) fn arm(
        &mut self,
        task: usize,
        timer: usize,
        with: usize,
        [first, interval]: [u64; 2],
    ) {
        self.disarm(timer);
        let now = self.clocks.of(TaskId(task as u16)).now();
        let armed = &mut self.alarms.timers[timer];
        (armed.due, armed.interval) = (now + first, interval);
        self.alarms.expires[with] = Some((timer, armed.times));
    }

    pub(super) fn disarm(&mut self, timer: usize) {
        if let Notice::Count(variable) = self.program.timers[timer] {
            self.variables[variable] = 0;
        }
        let disarmed = &mut self.alarms.timers[timer];
        let (earlier, times) = (disarmed.task, disarmed.times + 1);
        *disarmed = Timer { times, ..Timer::default() };
        // The task of the earlier arming has nothing to wait for.
        if let Some(earlier) = earlier {
            self.tasks[earlier].deadline = None;
        }
    }

    /// The timer's task is about to expire.
    pub(super) fn limit_to_expiry(&mut self, task: usize, timer: usize) {
        if !self.alarms.is_stale(task, timer) {
            let moment = self.clocks.of(TaskId(task as u16));
            self.tasks[task].deadline = Some(moment.deadline(self.alarms.timers[timer].due));
        }
    }

    /// The timer expires. False if its task is that of an earlier arming.
    pub(super) fn expire(&mut self, task: usize, timer: usize) -> bool {
        if self.alarms.is_stale(task, timer) {
            return false;
        }
        let armed = &mut self.alarms.timers[timer];
        let again = armed.interval > 0;
        armed.due = if again { armed.due + armed.interval } else { 0 };
        self.tasks[task].registers[AGAIN] = i64::from(again);
        match self.program.timers[timer] {
            Notice::Call => {}
            Notice::Count(variable) => self.variables[variable] += 1,
            Notice::Process => self.signal_process(),
            Notice::Task(to) => self.signal(to),
        }
        true
    }

    /// Whether the timer's task expires once more, unless the timer is disarmed before.
    pub(super) fn expires_again(&self, task: usize) -> bool {
        self.tasks[task].registers[AGAIN] != 0
    }

    fn exists(&self, task: usize) -> bool {
        !matches!(self.tasks[task].state, TaskState::Unborn | TaskState::Ended)
    }

    /// Whether the task never handles the signal: all block it, or the task is a timer's.
    fn blocks_signal(&self, task: usize) -> bool {
        self.program.handler.is_none() || self.alarms.expires[task].is_some()
    }

    /// The signal arrives for a task that may receive it.
    fn signal_process(&mut self) {
        let mut all = (0..self.tasks.len()).filter(|&task| self.exists(task));
        match all.find(|&task| !self.blocks_signal(task)) {
            Some(task) => self.signal(task),
            None => self.alarms.for_process = true,
        }
    }

    /// The signal arrives for a task.
    fn signal(&mut self, task: usize) {
        if !self.exists(task) {
            return;
        }
        self.alarms.for_task[task] = true;
        let Task { state, alert, interrupted, .. } = &self.tasks[task];
        let is_masked = self.blocks_signal(task) || interrupted.is_some();
        if is_masked || *state == TaskState::Starting || alert.is_some() {
            return;
        }
        let untouched = match self.code(task) {
            Code::Take(index) | Code::TimedTake(_, index, _) | Code::ReadNow(_, index) => {
                self.variables[index] > 0
            }
            Code::Ready(wanted) => self.ready(wanted).is_some(),
            _ => false,
        };
        let before_step = self.next(task).is_some_and(|next| time::is_undelayed(next.operation));
        self.tasks[task].alert = Some(Alert { untouched, before_step });
    }

    /// Which handlers end what the task waits for.
    fn ended_by(&self, task: usize) -> Ends {
        match self.code(task) {
            Code::Ready(Wanted { takes: false, .. }) => Ends::Always,
            Code::Take(_) | Code::TimedTake(..) | Code::Ready(_) | Code::ReadNow(..) => {
                Ends::UnlessRestarted
            }
            Code::Sleep(_) | Code::SignalWait(..) | Code::Pause => Ends::Always,
            _ => Ends::Never,
        }
    }

    /// The task handles the signal before its next operation.
    pub(super) fn handle(&mut self, task: usize) {
        let alert = self.tasks[task].alert.take();
        // The kernel looks for data before it looks for signals.
        let is_there = match self.code(task) {
            Code::Ready(wanted) => self.ready(wanted).is_some(),
            Code::ReadNow(_, index) => self.variables[index] > 0,
            _ => false,
        };
        let ends_wait = match self.ended_by(task) {
            _ if is_there || alert.is_some_and(|alert| alert.untouched) => false,
            Ends::Never => false,
            Ends::UnlessRestarted => !self.program.restarts,
            Ends::Always => true,
        };
        let before = Some(self.clocks.begin_handler(TaskId(task as u16)));
        self.enter_handler(task, before, ends_wait);
        self.run_on(task);
    }

    /// The signal arrived before the task began.
    pub(super) fn handle_at_start(&mut self, task: usize) {
        if self.alarms.for_task[task] && !self.blocks_signal(task) {
            self.enter_handler(task, None, false);
        }
    }

    fn enter_handler(&mut self, task: usize, before: Option<Option<u64>>, ends_wait: bool) {
        let Some(handler) = self.program.handler else { return };
        self.alarms.for_task[task] = false;
        let entered = &mut self.tasks[task];
        let deadline = entered.deadline.take();
        entered.interrupted = Some(Interrupted { at: entered.at, deadline, before, ends_wait });
        (entered.body, entered.at) = (handler, 0);
    }

    /// The handler has run: it runs again if the signal arrived meanwhile. Whether the task executes more before
    /// its next step.
    pub(super) fn leave_handler(&mut self, task: usize) -> bool {
        if std::mem::take(&mut self.alarms.for_task[task]) {
            self.tasks[task].at = 0;
            return true;
        }
        let Some(Interrupted { at, deadline, before, ends_wait }) =
            self.tasks[task].interrupted.take()
        else {
            return true;
        };
        self.tasks[task].body = self.program.tasks[task].0;
        self.tasks[task].at = at;
        let Some(before) = before else { return true };
        if ends_wait {
            match self.code(task) {
                Code::Ready(Wanted { register, .. }) => self.tasks[task].registers[register] = 0,
                Code::ReadNow(register, _) => self.tasks[task].registers[register] = 0,
                Code::TimedTake(register, ..) | Code::SignalWait(register, _) => {
                    self.tasks[task].registers[register] = 2;
                }
                _ => {}
            }
            self.tasks[task].at += 1;
            return true;
        }
        self.clocks.continue_after_handler(TaskId(task as u16), before);
        self.tasks[task].deadline = deadline;
        false
    }
}
