//! Exact positions in an execution, without counting instructions from the start.
//!
//! There is no reliable counter of instructions, and single steps cost tens of microseconds each.
//! So a position is described by the way to it: a step of the schedule, then segments, each of
//! which consists of an instruction with a hit count and a few single steps. The schedule
//! determines the execution, so the description always leads to the same state.

use std::fmt;
use std::str::FromStr;
use traces::wire::WATCHES;

/// A position in an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    /// The number of steps chosen so far: the step with this number (from 1) is in progress; 0 is
    /// main before its first step.
    pub(crate) step: u64,
    pub(crate) place: StepPoint,
}

/// A position within a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StepPoint {
    /// The step's task was chosen; nothing has been executed.
    Chosen,
    /// The task is in the program's code, at the end of these segments.
    Inside(Vec<Segment>),
    /// At the end of the execution.
    End,
}

/// One part of the way into a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) until: Until,
    /// The event occurs this often.
    pub(crate) times: u64,
    /// Then this many instructions of the program are executed.
    pub(crate) then: u64,
    /// The number of these instructions that are another pass of the instruction of `until`.
    pub(crate) passes: u64,
}

/// The event that ends the first part of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// The task returns from the runtime to the program.
    Entry,
    /// This instruction is about to execute.
    At(u64),
    /// This memory was accessed.
    Touched(Watch),
    /// A signal is raised.
    Signal,
    /// The program makes a system call.
    Call,
    /// This instruction is about to execute with this digest of registers and stack: used after an
    /// interrupt.
    AtState(u64, u64),
}

/// Watched memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watch {
    pub(crate) address: u64,
    /// 1, 2, 4 or 8; the address is a multiple of it.
    pub(crate) len: u8,
    pub(crate) kind: Access,
}

/// The kind of access to stop at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    /// The processor cannot watch reads only: this watches both, under another name.
    Read,
    Both,
}

impl Segment {
    pub(crate) fn new(until: Until, times: u64) -> Segment {
        Segment { until, times, then: 0, passes: 0 }
    }
}

impl Position {
    /// The choice of a step.
    pub(crate) fn chosen(step: u64) -> Position {
        Position { step, place: StepPoint::Chosen }
    }

    /// The step's entry into the program's code.
    pub(crate) fn entry(step: u64) -> Position {
        Position::inside(step, vec![Segment::new(Until::Entry, 1)])
    }

    /// The end of an execution whose last step this is.
    pub(crate) fn end(step: u64) -> Position {
        Position { step, place: StepPoint::End }
    }

    pub(crate) fn inside(step: u64, segments: Vec<Segment>) -> Position {
        Position { step, place: StepPoint::Inside(segments) }
    }

    /// The position after one more instruction; the next one is at `rip`.
    pub(crate) fn advance(&mut self, rip: u64) {
        if let StepPoint::Inside(segments) = &mut self.place
            && let Some(segment) = segments.last_mut()
        {
            segment.then += 1;
            if segment.until == Until::At(rip) {
                segment.passes += 1;
            }
        }
    }

    /// The position at the `times`-th next occurrence of an event.
    pub(crate) fn reached(&mut self, until: Until, times: u64) {
        let StepPoint::Inside(segments) = &mut self.place else {
            self.place = StepPoint::Inside(vec![Segment::new(until, times)]);
            return;
        };
        match segments.last_mut() {
            // Repeated hits of one instruction are added up in one segment.
            Some(segment) if segment.until == until && matches!(until, Until::At(_)) => {
                *segment = Segment::new(until, segment.times + segment.passes + times);
            }
            Some(segment) if segment.until == until && segment.then == 0 => segment.times += times,
            _ => segments.push(Segment::new(until, times)),
        }
    }

    /// The position without the single steps of its last segment, and their number.
    pub(crate) fn split(&self) -> (Position, u64) {
        let mut start = self.clone();
        let mut then = 0;
        if let StepPoint::Inside(segments) = &mut start.place
            && let Some(segment) = segments.last_mut()
        {
            then = std::mem::take(&mut segment.then);
            segment.passes = 0;
        }
        (start, then)
    }

    /// This position with this many single steps after its last segment.
    pub(crate) fn with(&self, then: u64) -> Position {
        let mut position = self.clone();
        if let StepPoint::Inside(segments) = &mut position.place
            && let Some(segment) = segments.last_mut()
        {
            segment.then = then;
            segment.passes = 0;
        }
        position
    }
}

/// Divides watched memory into aligned pieces of at most eight bytes.
pub(crate) fn watched_pieces(address: u64, len: u64, kind: Access) -> Option<Vec<Watch>> {
    let end = address.checked_add(len)?;
    let (mut at, mut pieces) = (address, Vec::new());
    while at < end {
        let fits = |size: &u64| at % size == 0 && at + size <= end;
        let size = [8, 4, 2, 1].into_iter().find(fits)?;
        pieces.push(Watch { address: at, len: size as u8, kind });
        at += size;
        if pieces.len() > WATCHES {
            return None;
        }
    }
    (!pieces.is_empty()).then_some(pieces)
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        match &self.place {
            StepPoint::Chosen => Ok(()),
            StepPoint::End => f.write_str(".end"),
            StepPoint::Inside(segments) => {
                for segment in segments {
                    match segment.until {
                        Until::Entry => f.write_str(".")?,
                        Until::At(address) => write!(f, ".{address:x}*{}", segment.times)?,
                        Until::Touched(watch) => write!(f, ".{watch}*{}", segment.times)?,
                        Until::Signal => write!(f, ".s{}", segment.times)?,
                        Until::Call => write!(f, ".c{}", segment.times)?,
                        Until::AtState(address, _) => write!(f, ".{address:x}")?,
                    }
                    if segment.then > 0 || segment.until == Until::Entry {
                        write!(f, "+{}", segment.then)?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Access::Write => 'w',
            Access::Read => 'r',
            Access::Both => 'a',
        };
        write!(f, "{kind}{:x}:{}", self.address, self.len)
    }
}

impl FromStr for Position {
    type Err = ();

    /// Parses the text form of a [`Position`]. A position after an interrupt has no text form.
    fn from_str(text: &str) -> Result<Position, ()> {
        let (step, place) = match text.split_once('.') {
            None => (text, StepPoint::Chosen),
            Some((step, "end")) => (step, StepPoint::End),
            Some((step, segments)) => (
                step,
                StepPoint::Inside(
                    segments.split('.').map(segment).collect::<Option<_>>().ok_or(())?,
                ),
            ),
        };
        Ok(Position { step: step.parse().map_err(drop)?, place })
    }
}

fn segment(text: &str) -> Option<Segment> {
    let (until, then) = match text.split_once('+') {
        Some((until, then)) => (until, then.parse().ok()?),
        None => (text, 0),
    };
    let hex = |digits: &str| u64::from_str_radix(digits, 16).ok();
    let (until, times) = match until.split_once('*') {
        None if until.is_empty() => (Until::Entry, 1),
        None => match until.split_at_checked(1)? {
            ("s", times) => (Until::Signal, times.parse().ok()?),
            ("c", times) => (Until::Call, times.parse().ok()?),
            _ => return None,
        },
        Some((what, times)) => {
            let until = match what.split_once(':') {
                Some((what, len)) => {
                    let (kind, address) = what.split_at_checked(1)?;
                    let kind = match kind {
                        "w" => Access::Write,
                        "r" => Access::Read,
                        "a" => Access::Both,
                        _ => return None,
                    };
                    let (address, len) = (hex(address)?, len.parse().ok()?);
                    let fits = matches!(len, 1 | 2 | 4 | 8) && address % u64::from(len) == 0;
                    Until::Touched(fits.then_some(Watch { address, len, kind })?)
                }
                None => Until::At(hex(what)?),
            };
            (until, times.parse().ok()?)
        }
    };
    (times > 0).then_some(Segment { then, ..Segment::new(until, times) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_hits_of_one_instruction_are_one_segment() {
        let mut position = Position::chosen(3);
        position.reached(Until::At(0x10), 2);
        position.advance(0x14);
        position.advance(0x10);
        position.advance(0x14);
        position.reached(Until::At(0x10), 1);
        assert_eq!(position.to_string(), "3.10*4");
        let mut signalled = position.clone();
        signalled.reached(Until::Signal, 1);
        signalled.reached(Until::Signal, 2);
        assert_eq!(signalled.to_string(), "3.10*4.s3");
        position.reached(Until::At(0x20), 5);
        position.advance(0x24);
        assert_eq!(position.to_string(), "3.10*4.20*5+1");
        let (start, then) = position.split();
        assert_eq!((start.to_string().as_str(), then), ("3.10*4.20*5", 1));
        assert_eq!(start.with(1).to_string(), position.to_string());
    }

    #[test]
    fn positions_are_displayed() {
        assert_eq!(Position::chosen(7).to_string(), "7");
        assert_eq!(Position::entry(7).to_string(), "7.+0");
        assert_eq!(Position { step: 9, place: StepPoint::End }.to_string(), "9.end");
    }

    #[test]
    fn displayed_positions_are_parsed() {
        for name in [
            "7",
            "0.+3",
            "9.end",
            "3.10*4.c0ffee*5+1",
            "3.s2.c3+12",
            "19.+2.w404040:8*1.r404044:4*2.a7:1*3+5",
        ] {
            let position: Position = name.parse().expect(name);
            assert_eq!(position.to_string(), name);
        }
        for nonsense in [
            "",
            "x",
            "-1",
            "7.",
            "7.x",
            "7.zz*1",
            "7.10*0",
            "7.10*",
            "7.w3:8*1",
            "7.w8:3*1",
            "7.10",
            "7.+",
            "7.s",
            "7.é1",
            "7.end.end",
        ] {
            // An empty segment is the entry of the step.
            let parsed: Result<Position, ()> = nonsense.parse();
            assert!(parsed.is_err() || nonsense == "7.", "{nonsense}");
        }
    }

    #[test]
    fn watched_memory_is_cut_into_what_the_processor_can_watch() {
        let cut = |address, len| {
            let pieces = watched_pieces(address, len, Access::Write)?;
            Some(pieces.iter().map(|piece| (piece.address, piece.len)).collect::<Vec<_>>())
        };
        assert_eq!(cut(0x1000, 4), Some(vec![(0x1000, 4)]));
        assert_eq!(cut(0x1004, 8), Some(vec![(0x1004, 4), (0x1008, 4)]));
        assert_eq!(cut(0x1001, 3), Some(vec![(0x1001, 1), (0x1002, 2)]));
        assert_eq!(cut(0x1000, 64), None);
        assert_eq!(cut(0x1000, 0), None);
    }
}
