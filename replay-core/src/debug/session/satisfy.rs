//! Searches for a schedule that satisfies a predicate, and goes to the state in which it does.
//!
//! The search runs in a separate thread, and in processes other than the traced one. So the
//! script for gdb can ask again and again whether it is over, and Ctrl-C is noticed in between.

use super::running_search::{RunningSearch, Wanted};
use super::{Seek, Session};
use crate::Error;
use crate::control::command;
use crate::debug::execution::Stop;
use crate::debug::execution::position::Position;
use crate::runner::{Runner, Satisfying, Sought};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::time::Duration;

/// How long a debugger waits for one answer.
const PATIENCE: Duration = Duration::from_millis(250);

/// The last line of an answer that is not complete.
const UNFINISHED: &str = "wait";

impl Session<'_> {
    /// Without a predicate: the position. With one: checks it, and requests a search for a schedule
    /// that satisfies it. `again` repeats the last one from the present position.
    pub(super) fn when_or_search(&mut self, text: &str) -> Result<String, Error> {
        if text.is_empty() {
            return self.when();
        }
        let text = match (text, &self.wanted) {
            ("again", None) => {
                return Ok("there was no search yet: `when PREDICATE`, as in `when T1@queue.c:41 \
                           && T2@pop: len == 0`\n"
                    .to_owned());
            }
            ("again", Some(wanted)) => wanted.text.clone(),
            _ => text.to_owned(),
        };
        let options = command::as_recorded(&self.execution.trace);
        let interrupt = self.execution.interrupt.clone();
        let checked = Runner::new(self.execution.target.clone(), options)
            .with_predicates(vec![text.clone()], interrupt.flag());
        match checked {
            Ok(runner) if runner.has_predicates() => {
                self.wanted = Some(Wanted { text, runner });
                Ok(self.seek(Seek::Satisfy))
            }
            Ok(_) => Ok("interrupted\n".to_owned()),
            Err(Error::Predicate { what, text, at, .. }) => {
                Ok(format!("{what} (at character {})\n  {text}\n  {:at$}^\n", at + 1, ""))
            }
            Err(error) => Err(error),
        }
    }

    /// Starts the search for the predicate.
    pub(super) fn begin_search(&mut self) -> Result<(), Error> {
        let Some(Wanted { runner, .. }) = &self.wanted else { return Ok(()) };
        let runner = runner.clone();
        let at_hand = self.execution.trace.execution.clone();
        let position = self.steps_done() as usize;
        let interrupt = self.execution.interrupt.clone();
        let flag = Arc::clone(&interrupt);
        let (to, result) = channel();
        let thread = std::thread::Builder::new()
            .spawn(move || {
                // The session may have ended.
                let _ = to.send(runner.satisfying(&at_hand, position, flag.flag()));
            })
            .map_err(Error::system("cannot start a thread for the search"))?;
        self.search = Some(RunningSearch { result, thread: Some(thread), interrupt });
        Ok(())
    }

    /// Waits for the search, and goes to the schedule that it found.
    pub(super) fn satisfy(&mut self) -> Result<Stop, Error> {
        self.begin_search()?;
        let Some(search) = self.search.take() else { return Ok(self.stay("no search runs")) };
        let sought = search.wait(None);
        drop(search);
        self.go_to_satisfied(sought)
    }

    /// Waits a moment for the search. The last line of the answer says that it still runs, or is as in
    /// [`perform_now`](Session::perform_now).
    pub(super) fn wait_for_search(&mut self) -> String {
        let Some(search) = self.search.take() else { return self.last_answer.clone() };
        let Some(sought) = search.wait(Some(PATIENCE)) else {
            self.search = Some(search);
            return format!("\n{UNFINISHED}");
        };
        drop(search);
        self.undivert();
        let done = self.go_to_satisfied(Some(sought)).and_then(|stop| self.report_move(stop));
        // The debugger may not have read the answer when Ctrl-C came.
        self.last_answer = self.answer(String::new(), done);
        self.last_answer.clone()
    }

    /// Ctrl-C, from a script: the search ends.
    pub(super) fn stop_search(&mut self) {
        if self.search.is_some() {
            self.execution.interrupt.flag().store(true, SeqCst);
        }
    }

    fn go_to_satisfied(&mut self, sought: Option<Result<Sought, Error>>) -> Result<Stop, Error> {
        let Some(sought) = sought.transpose()? else { return Ok(self.stay("no search runs")) };
        let Sought::Found(found) = sought else {
            let text = not_found(&sought);
            return Ok(self.stay(&text));
        };
        let Satisfying { trace, steps, message, executions, shared, is_same } = *found;
        self.execution.switch_to(trace)?;
        let stop = match steps < self.execution.trace.execution.steps.len() {
            true => self.execution.go_to(&Position::chosen(steps as u64 + 1))?,
            false => self.execution.go_to_end()?,
        };
        let executions = executions_text(executions);
        let outcome = self.expected_outcome();
        let which = match is_same {
            true => "this schedule satisfies it".to_owned(),
            false => format!(
                "another schedule from step {} on satisfies it, after {executions}; without \
                 further choices its outcome is: {outcome}",
                shared + 1
            ),
        };
        self.print(&format!(
            "[sched] {which}\n[sched] {message}\n[sched] arrivals at its sites are steps, so step \
             numbers differ from before; `sched pick back` returns\n"
        ));
        Ok(stop)
    }
}

/// What a search without a result shows.
fn not_found(sought: &Sought) -> String {
    match sought {
        Sought::Found(_) => String::new(),
        Sought::NotFound { executions, why } => {
            let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
            format!("not found in {}; this shows nothing{why}", executions_text(*executions))
        }
        Sought::Impossible { executions, bound } => {
            let of = match bound {
                None => "every schedule".to_owned(),
                Some(1) => "every schedule with up to 1 preemption".to_owned(),
                Some(bound) => format!("every schedule with up to {bound} preemptions"),
            };
            format!("no schedule satisfies it ({of}; {})", executions_text(*executions))
        }
        Sought::Interrupted { executions } => {
            format!("interrupted after {}; this shows nothing", executions_text(*executions))
        }
    }
}

fn executions_text(executions: u64) -> String {
    match executions {
        1 => "1 execution".to_owned(),
        more => format!("{more} executions"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_complete_search_shows_something() {
        let text = |sought| not_found(&sought);
        assert_eq!(
            text(Sought::NotFound { executions: 7, why: String::new() }),
            "not found in 7 executions; this shows nothing"
        );
        assert_eq!(
            text(Sought::Impossible { executions: 1, bound: Some(2) }),
            "no schedule satisfies it (every schedule with up to 2 preemptions; 1 execution)"
        );
        assert_eq!(
            text(Sought::Interrupted { executions: 3 }),
            "interrupted after 3 executions; this shows nothing"
        );
    }
}
