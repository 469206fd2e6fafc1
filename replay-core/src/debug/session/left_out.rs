//! Events that cannot be reported to a debugger at once.
//!
//! While a debugger steps one task over a breakpoint, it expects no stop of another task (gdb ends
//! with an internal error). But the task's instruction may be a scheduling point, at which the
//! schedule lets other tasks run first. The first of their events is reported when all tasks
//! continue: the execution goes back to it, since it came before the end of the step.
//!
//! One instruction may also access several watched objects, and a stop reply names one.

use super::Session;
use crate::Error;
use crate::debug::execution::{Condition, Reason, Stop};
use crate::debug::process::registers::{RIP, Values};
use iced_x86::{Decoder, DecoderOptions};

/// The longest instruction, in bytes.
const LONGEST: usize = 15;

impl Session<'_> {
    /// The breakpoint that the debugger removed in order to step this task over it.
    pub(super) fn lifted_before(
        &mut self,
        task: u16,
    ) -> Result<Option<(u64, Vec<Condition>)>, Error> {
        let thread = self.execution.thread(task)?;
        let rip = thread.and_then(|thread| thread.values.word(RIP));
        Ok(rip.and_then(|rip| Some((rip, self.lifted.get(&rip)?.clone()))))
    }

    /// The stop to report instead of running, if there is one. With `alone`, one task steps alone:
    /// events of others wait further.
    pub(super) fn owed_stop(
        &mut self,
        alone: Option<u16>,
        forwards: bool,
    ) -> Result<Option<Stop>, Error> {
        self.owed.pretended.clear();
        if alone.is_some() && forwards {
            return Ok(None);
        }
        if !self.owed.touched.is_empty() && alone.is_none() && self.owed.forwards == forwards {
            let watch = self.owed.touched.remove(0);
            return Ok(Some(Stop { task: self.stop.task, reason: Reason::Touched(watch) }));
        }
        self.owed.touched.clear();
        let Some(event) = self.owed.event.take().filter(|_| forwards) else { return Ok(None) };
        let stop = self.execution.go_to(&event.position)?;
        Ok(Some(match stop.reason {
            Reason::Done => Stop { task: event.task, reason: event.reason },
            _ => stop,
        }))
    }

    /// Stores the events that cannot be reported yet after a run forwards.
    pub(super) fn owe(&mut self, alone: Option<u16>, stop: Stop) -> Result<Stop, Error> {
        self.owed.touched = std::mem::take(&mut self.execution.also);
        self.owed.forwards = true;
        if !matches!(stop.reason, Reason::Touched(_)) {
            self.owed.touched.clear();
        }
        let Some(event) = self.execution.left_out.take() else { return Ok(stop) };
        let Some(task) = alone else { return Ok(stop) };
        let event = self.owed.event.get_or_insert(event);
        if stop.task == task && matches!(stop.reason, Reason::Done | Reason::Touched(_)) {
            // The execution goes back to before the instruction, so what it accessed is reported
            // when it is executed again.
            self.owed.touched.clear();
            return Ok(Stop { reason: Reason::Done, ..stop });
        }
        // The task does not complete its instruction. A debugger that steps over a breakpoint must
        // see that the task has left it, or reports the same hit again: it is shown after the
        // instruction until the program is resumed.
        let position = event.position.clone();
        self.execution.go_to(&position)?;
        self.pretend_step(task)
    }

    /// Shows a task after its next instruction until the program is resumed.
    pub(super) fn pretend_step(&mut self, task: u16) -> Result<Stop, Error> {
        let stop = Stop { task, reason: Reason::Done };
        let Some(thread) = self.execution.thread(task)? else { return Ok(stop) };
        let mut values = thread.values.clone();
        if let Some(rip) = values.word(RIP) {
            let mut code = [0; LONGEST];
            let len = self.execution.live().read(rip, &mut code);
            let next = Decoder::with_ip(64, &code[..len], rip, DecoderOptions::NONE).decode();
            values.set_word(RIP, next.next_ip());
        }
        self.pretend(task, values);
        Ok(stop)
    }

    /// The same after a run backwards.
    pub(super) fn owe_backwards(&mut self, stop: Stop) -> Result<Stop, Error> {
        self.owed.touched = std::mem::take(&mut self.execution.also);
        self.owed.forwards = false;
        self.execution.left_out = None;
        Ok(stop)
    }

    /// Shows a task with these registers until the program is resumed.
    pub(super) fn pretend(&mut self, task: u16, values: Values) {
        self.owed.pretended.retain(|(of, _)| *of != task);
        self.owed.pretended.push((task, values));
    }

    /// The registers of a task that is not shown where it is.
    pub(super) fn pretended(&self, task: u16) -> Option<&Values> {
        self.owed.pretended.iter().rfind(|(of, _)| *of == task).map(|(_, values)| values)
    }

    /// The debugger shows this stop to its user, who only stepped one task: what other tasks reached
    /// meanwhile is not reported as a stop any more, so this says where it is.
    pub(super) fn is_shown(&mut self) -> String {
        if !self.owed.pretended.is_empty() {
            return String::new();
        }
        let Some(event) = self.owed.event.take() else { return String::new() };
        let watched = match event.reason {
            Reason::Touched(watch) => Some(watch.address),
            _ => None,
        };
        meanwhile(event.task, watched, &event.position.to_string())
    }
}

/// What a task reached while the debugger stepped another one: memory that is watched at this address, or a
/// breakpoint.
fn meanwhile(task: u16, watched: Option<u64>, position: &str) -> String {
    let what = match watched {
        Some(address) => format!("accessed watched memory ({address:#x})"),
        None => "reached a breakpoint".to_owned(),
    };
    format!(
        "[sched] during this step T{task} {what} at position {position}: `sched goto` goes there\n"
    )
}

#[cfg(test)]
mod tests {
    use super::meanwhile;

    #[test]
    fn what_other_tasks_reached_is_said() {
        assert_eq!(
            meanwhile(2, Some(0x4010), "5.i3"),
            "[sched] during this step T2 accessed watched memory (0x4010) at position 5.i3: `sched goto` \
             goes there\n"
        );
        assert_eq!(
            meanwhile(2, None, "5"),
            "[sched] during this step T2 reached a breakpoint at position 5: `sched goto` goes there\n"
        );
    }
}
