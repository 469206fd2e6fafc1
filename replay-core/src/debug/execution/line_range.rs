//! Runs through a range of code that is executed many times, such as a line with a loop, instead of
//! stepping through it.

use super::{Execution, OnHit, Reason, RunGoal, Stop};
use crate::Error;
use crate::debug::process::jump_counter::JUMP;
use crate::debug::process::machine::ProcessState;
use iced_x86::{Decoder, DecoderOptions, FlowControl};
use std::collections::BTreeSet;
use std::ops::Range;

/// No line has this much code.
const MOST: u64 = 1 << 16;

impl Execution {
    /// The next instruction, if the program's code is running.
    pub(super) fn at_rip(&self) -> Option<u64> {
        let running = self.live.state() == ProcessState::Program;
        running.then(|| self.live.tracee().registers().ok())?.map(|registers| registers.rip)
    }

    /// Whether no jump in the function of `head` targets the instructions that a jump at `head`
    /// would cover, as far as the targets are known.
    pub(super) fn is_never_jumped_into(&self, head: u64) -> bool {
        let Some(range) = self.symbols.function(head) else { return false };
        if range.end - range.start > MOST {
            return false;
        }
        let mut code = vec![0; (range.end - range.start) as usize];
        self.live.read(range.start, &mut code) == code.len()
            && is_never_jumped_into(&code, range.start, head)
    }

    /// Runs a task until it leaves a range of code, or is at an instruction that may leave it.
    pub(super) fn run_within(&mut self, task: u16, range: &Range<u64>) -> Result<Stop, Error> {
        let here = Stop { task, reason: Reason::Done };
        if range.end.saturating_sub(range.start) > MOST {
            return Ok(here);
        }
        let mut code = vec![0; (range.end - range.start) as usize];
        let whole = self.live.read(range.start, &mut code) == code.len();
        let Some(exits) = exits(&code, range).filter(|_| whole) else { return Ok(here) };
        if self.at_rip().is_none_or(|rip| exits.contains(&rip)) {
            return Ok(here);
        }
        self.exits = exits;
        let stop = self.run(RunGoal::Leave(task), OnHit::Stop);
        self.exits.clear();
        stop
    }
}

/// The instructions at which a range can be left: the targets of its jumps, its end, and
/// instructions in it with unknown targets. None if the code cannot be decoded.
fn exits(code: &[u8], range: &Range<u64>) -> Option<BTreeSet<u64>> {
    let mut exits = BTreeSet::from([range.end]);
    let decoder = Decoder::with_ip(64, code, range.start, DecoderOptions::NONE);
    for instruction in decoder {
        if instruction.is_invalid() {
            return None;
        }
        match instruction.flow_control() {
            FlowControl::Next => {}
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                let to = instruction.near_branch_target();
                if !range.contains(&to) {
                    exits.insert(to);
                }
            }
            _ => drop(exits.insert(instruction.ip())),
        }
    }
    Some(exits)
}

fn is_never_jumped_into(code: &[u8], start: u64, head: u64) -> bool {
    let from = head.checked_sub(start).and_then(|from| code.get(from as usize..));
    let mut covered = Decoder::with_ip(64, from.unwrap_or_default(), head, DecoderOptions::NONE);
    while covered.position() < JUMP && covered.can_decode() {
        let _ = covered.decode();
    }
    let behind = head + 1..covered.ip();
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    decoder.iter().all(|instruction| match instruction.flow_control() {
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
            !behind.contains(&instruction.near_branch_target())
        }
        FlowControl::IndirectBranch => false,
        _ => !instruction.is_invalid(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jump_targets_are_detected() {
        // inc eax; inc eax; jne to the start, then to the second instruction.
        for (jump, expected) in [(0xfau8, true), (0xfc, false)] {
            let code = [0xff, 0xc0, 0xff, 0xc0, 0x75, jump];
            assert_eq!(is_never_jumped_into(&code, 0x1000, 0x1000), expected, "{jump:x}");
        }
        // jmp rax; a call with an arbitrary target; an invalid instruction.
        assert!(!is_never_jumped_into(&[0xff, 0xe0], 0x1000, 0x1000));
        assert!(is_never_jumped_into(&[0xe8, 0, 0, 0, 0, 0xc3], 0x1000, 0x1000));
        assert!(!is_never_jumped_into(&[0x06], 0x1000, 0x1000));
    }

    #[test]
    fn a_range_is_left_at_its_end_its_jumps_and_its_calls() {
        for (code, expected) in [
            // A loop within the range.
            (vec![0xff, 0xc0, 0x75, 0xfc], Some(vec![0x1004])),
            // A jump out of the range, to 0x1012.
            (vec![0x74, 0x10, 0xff, 0xc0], Some(vec![0x1004, 0x1012])),
            // A call, a return, a jump through a register.
            (vec![0xe8, 0, 0, 0, 0, 0xc3, 0xff, 0xe0], Some(vec![0x1000, 0x1005, 0x1006, 0x1008])),
            // The range ends within an instruction.
            (vec![0xff, 0xc0, 0xe8], None),
        ] {
            let range = 0x1000..0x1000 + code.len() as u64;
            let found = exits(&code, &range).map(|exits| exits.into_iter().collect::<Vec<_>>());
            assert_eq!(found, expected, "{code:x?}");
        }
    }
}
