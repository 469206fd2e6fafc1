//! `origin`: where a value came from.

use super::Session;
use crate::Error;
use crate::debug::dataflow::Location;
use crate::debug::described_origin::{LARGEST, OriginLine};
use crate::symbols::expressions;
use std::fmt::Write;
use traces::TaskId;

impl Session<'_> {
    /// Where a value came from: `ADDRESS LENGTH`, or `in TASK EXPRESSION` for a variable of a task's
    /// function. None if the arguments are neither.
    pub(super) fn origin_of(&mut self, arguments: &[&str]) -> Option<Result<String, Error>> {
        if let ["in", task, words @ ..] = arguments {
            let task: u16 = task.parse().ok()?;
            return Some(self.origin_in(task, &words.join(" ")));
        }
        let [address, len] = arguments else { return None };
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).ok()?;
        let len: u64 = len.parse().ok()?;
        let mut text = String::new();
        Some(self.follow_origin(&mut text, Location::Memory { address, len }, 0).map(|()| text))
    }

    /// Where the value of an expression over a task's variables, or of one of its registers
    /// (`$rdi`), came from.
    fn origin_in(&mut self, task: u16, text: &str) -> Result<String, Error> {
        let (value, location) = match text.strip_prefix('$') {
            Some(name) => (String::new(), Location::of_register_name(name)),
            None => match expressions::parse(text) {
                Ok(expression) => {
                    let task = [TaskId(task)];
                    let found = self.execution.locate(&expression, &task)?;
                    let location = found.location();
                    (found.value().unwrap_or_default(), location)
                }
                Err(why) => (String::new(), Err(format!("it cannot be parsed: {why}"))),
            },
        };
        match location {
            Ok(location) => {
                let at = self.execution.location_text(location);
                let mut answer = match value.as_str() {
                    "" => format!("{text}\n"),
                    value => format!("{text} is {value}, in {at}\n"),
                };
                self.follow_origin(&mut answer, location, task)?;
                Ok(answer)
            }
            Err(why) => Ok(format!("{text} cannot be followed: {why}\n")),
        }
    }

    fn follow_origin(
        &mut self,
        answer: &mut String,
        location: Location,
        task: u16,
    ) -> Result<(), Error> {
        let len = location.len();
        if len == 0 || len > LARGEST {
            let _ = writeln!(
                answer,
                "a value of {len} bytes is not followed: ask for a part of it, of at most {LARGEST}"
            );
            return Ok(());
        }
        if self.undivert() {
            self.print("[sched] changes discarded: the origin is in the recorded execution\n");
        }
        let origin = self.execution.origin(location, task)?;
        for line in self.execution.describe_origin(&origin) {
            let _ = writeln!(answer, "  {}", line_text(&line));
        }
        Ok(())
    }
}

fn line_text(line: &OriginLine) -> String {
    match &line.place {
        Some(place) => format!(
            "step {}  {}  {}  position {}  {}",
            place.step,
            place.task,
            place.code(),
            place.position,
            line.exact_text()
        ),
        None => line.exact_text(),
    }
}
