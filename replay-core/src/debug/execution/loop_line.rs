//! A step backwards into a line that is a loop.
//!
//! gdb goes back through a line by single instructions, with a packet for each. If the line is a
//! loop, these may be millions. Its script says which code the line has, and the step backwards that
//! follows goes to the line's second instruction at once; gdb's next step ends at the first.

use super::last_events::Searched;
use super::position::Position;
use super::{Execution, OnHit, Reason, Stop};
use crate::Error;
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use std::ops::Range;

/// No line, and no function with such a line, has more code.
const MOST: u64 = 1 << 16;

impl Execution {
    /// Goes to the task's last instruction before the current position. If it belongs to a line that
    /// is a loop, continues to the line's second instruction, or to the last event within the line.
    pub(crate) fn step_back_over(
        &mut self,
        task: u16,
        over: bool,
        line: &Range<u64>,
    ) -> Result<Stop, Error> {
        let stop = self.step_back(task, over)?;
        let is_within = stop.reason == Reason::Done
            && self.current() == task
            && self.at_rip().is_some_and(|rip| rip > line.start && line.contains(&rip));
        if !is_within || !self.is_loop(line) {
            return Ok(stop);
        }
        let here = self.at.clone();
        let rsp = self.rsp()?;
        Ok(match self.go_to_beginning_of(line, &here, task, rsp)? {
            Some(stop) => stop,
            None => {
                self.go_to(&here)?;
                stop
            }
        })
    }

    /// None if it is not certain that the steps backwards would end there.
    fn go_to_beginning_of(
        &mut self,
        line: &Range<u64>,
        here: &Position,
        task: u16,
        rsp: u64,
    ) -> Result<Option<Stop>, Error> {
        let requests = self.armed.clone();
        // Conditions of a breakpoint there do not matter for the line.
        self.armed.breakpoints.insert(line.start, Vec::new());
        let found = self.event_before(here);
        self.armed = requests;
        self.scan = None;
        let event = match found? {
            Searched::Event(event) => *event,
            Searched::Nothing => return Ok(None),
            Searched::Interrupted => {
                self.go_to(here)?;
                return Ok(Some(Stop { task, reason: Reason::Interrupted }));
            }
        };
        if event.task != task {
            return Ok(None);
        }
        let stop = self.stop_at_event(event)?;
        if stop.reason != Reason::Breakpoint || self.at_rip() != Some(line.start) {
            return Ok(Some(stop));
        }
        // A function that the line calls may pass the line, too.
        if self.rsp()? != rsp {
            return Ok(None);
        }
        // gdb ends at the line's first instruction only if it comes from within the line: the last
        // step is its own.
        let stop = self.step_one(task, OnHit::Nothing)?;
        let is_within = stop.reason == Reason::Done
            && self.current() == task
            && self.at_rip().is_some_and(|rip| rip > line.start && line.contains(&rip));
        Ok(is_within.then_some(stop))
    }

    /// Whether code jumps back within itself, and is entered at its first instruction only, as far as
    /// its function's jumps say.
    fn is_loop(&self, line: &Range<u64>) -> bool {
        let Some(function) = self.symbols.function(line.start) else { return false };
        let len = function.end.saturating_sub(function.start);
        if len > MOST || line.end > function.end {
            return false;
        }
        let mut code = vec![0; len as usize];
        self.live().read(function.start, &mut code) == code.len()
            && is_loop(&code, function.start, line)
    }
}

fn is_loop(code: &[u8], start: u64, line: &Range<u64>) -> bool {
    let mut jumps_back = false;
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    for instruction in &mut decoder {
        if instruction.is_invalid() {
            return false;
        }
        let is_within = line.contains(&instruction.ip());
        match instruction.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                let to = instruction.near_branch_target();
                jumps_back |= is_within && line.contains(&to) && to <= instruction.ip();
                let enters = to > line.start && line.contains(&to);
                if !is_within && enters || is_within && to == line.start {
                    return false;
                }
            }
            FlowControl::IndirectBranch => return false,
            _ => {}
        }
    }
    jumps_back
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_entered_at_its_beginning_is_a_loop() {
        // xor eax, eax; inc eax; jne to the inc; nop; and a jump to one of them.
        let code = |to: u8| vec![0x31, 0xc0, 0xff, 0xc0, 0x75, 0xfc, 0x90, 0xeb, to];
        let line = 0x1000..0x1006;
        // The jump leads behind itself, to the line's beginning, into its middle.
        for (to, expected) in [(0x00, true), (0xf7, true), (0xf9, false)] {
            assert_eq!(is_loop(&code(to), 0x1000, &line), expected, "{to:x}");
        }
        // The loop's first instruction is the line's: it is passed in each turn.
        assert!(!is_loop(&code(0), 0x1000, &(0x1002..0x1006)));
        // No loop; a jump through a register.
        assert!(!is_loop(&[0x31, 0xc0, 0x90], 0x1000, &(0x1000..0x1003)));
        assert!(!is_loop(&[0x31, 0xc0, 0xff, 0xe0], 0x1000, &(0x1000..0x1002)));
    }
}
