//! `history`: every write to some memory in the execution.

use super::Session;
use crate::Error;
use crate::debug::execution::history::History;
use crate::debug::execution::memory_write::Written;
use crate::debug::execution::position::{Access, Watch, watched_pieces};
use std::fmt::Write;

/// How many writes are listed at once.
const PAGE: usize = 1000;

impl Session<'_> {
    /// The writes to `len` bytes at an address: those nearest to the position, or from one of them
    /// on. Only the latter counts all of them. None if the arguments are no such numbers.
    pub(super) fn history_of(&mut self, arguments: &[&str]) -> Option<Result<String, Error>> {
        let (address, len, from) = match arguments {
            [address, len] => (address, len, None),
            [address, len, from] => (address, len, Some(from.parse::<usize>().ok()?)),
            _ => return None,
        };
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).ok()?;
        let len: u64 = len.parse().ok()?;
        let Some(watches) = watched_pieces(address, len, Access::Write) else {
            return Some(Ok(format!(
                "{len} bytes at {address:#x} are more than the processor can watch at once (four \
                 parts of up to eight bytes): ask for a part of them\n"
            )));
        };
        if self.undivert() {
            self.print("[sched] changes discarded: the history is the recorded execution's\n");
        }
        let found = match from {
            None => self.execution.nearest_writes(&watches, PAGE / 2),
            Some(_) => self.execution.writes_to(&watches, usize::MAX),
        };
        Some(found.map(|history| self.history_text(&history, &watches, from)))
    }

    fn history_text(&self, history: &History, watches: &[Watch], from: Option<usize>) -> String {
        let total = history.writes.len();
        let is_whole = !history.has_earlier && !history.has_later;
        let mut text = match total {
            _ if !is_whole => number_text(history),
            0 => "no write\n".to_owned(),
            1 => format!("1 write, {} before this position\n", history.passed),
            _ => format!("{total} writes, {} before this position\n", history.passed),
        };
        if history.cut {
            text.push_str("interrupted: later writes are missing\n");
        }
        let first = match from {
            Some(from) => from.clamp(1, total.max(1)) - 1,
            None => history.passed.saturating_sub(PAGE / 2).min(total.saturating_sub(PAGE)),
        };
        let last = (first + PAGE).min(total);
        // The contents before each listed write.
        let mut values: Vec<u64> = history.before.clone();
        for (at, write) in history.writes[..last].iter().enumerate() {
            let part = watches.iter().position(|watch| *watch == write.watch).unwrap_or(0);
            let before = std::mem::replace(&mut values[part], write.value);
            if at >= first {
                let mark = if at + 1 == history.passed { '>' } else { ' ' };
                // If those before are not counted, the numbers begin at the position.
                let number = match (history.has_earlier, at < history.passed) {
                    (false, _) => format!("{}", at + 1),
                    (true, true) => format!("-{}", history.passed - at),
                    (true, false) => format!("+{}", at + 1 - history.passed),
                };
                let _ = writeln!(text, "{mark}{}", self.write_line(&number, write, before));
            }
        }
        text + &rest(is_whole, (first + 1, last), total)
    }

    fn write_line(&self, number: &str, write: &Written, before: u64) -> String {
        let place = self.execution.code_text(write.near);
        let part = match write.watch.len {
            8 => String::new(),
            _ => format!(" ({} bytes)", write.watch.len),
        };
        format!(
            "{number:>6}  step {}  T{}  {before:#x} -> {:#x}{part}  {place}  position {}",
            write.position.step, write.task, write.value, write.position
        )
    }
}

/// The number of writes, as far as they were counted.
fn number_text(history: &History) -> String {
    let after = history.writes.len() - history.passed;
    counted((history.has_earlier, history.passed), (history.has_later, after))
}

/// The numbers of writes before and after a position, each with whether there are more.
fn counted(before: (bool, usize), after: (bool, usize)) -> String {
    let side = |(is_cut, number): (bool, usize)| match is_cut {
        true => format!("at least {number}"),
        false => number.to_string(),
    };
    format!("{} writes before this position, {} after it\n", side(before), side(after))
}

/// What follows a list of writes: of all, those from `first` to `last` are listed; or those nearest to the
/// position, if not all were counted.
fn rest(is_whole: bool, (first, last): (usize, usize), total: usize) -> String {
    match () {
        () if !is_whole => {
            "these are the nearest; a number after the expression counts all writes and \
                            begins there, which takes a second for some ten thousand of them\n"
                .to_owned()
        }
        () if first > 1 || last < total => {
            format!("these are {first} to {last}; a number after the expression begins there\n")
        }
        () => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_history_says_how_much_it_is() {
        assert_eq!(
            counted((true, 30), (false, 2)),
            "at least 30 writes before this position, 2 after it\n"
        );
        assert_eq!(rest(true, (1, 9), 9), "");
        assert_eq!(
            rest(true, (3, 9), 9),
            "these are 3 to 9; a number after the expression begins there\n"
        );
        assert_eq!(
            rest(false, (1, 9), 9),
            "these are the nearest; a number after the expression counts all writes and begins there, \
             which takes a second for some ten thousand of them\n"
        );
    }
}
