//! Where an execution stands, exactly, without counting instructions from its start.
//!
//! There is no counter of instructions to rely on, and counting by single steps costs tens of
//! microseconds each. So a place is named by how it is reached: a step of the schedule, then one leg
//! after the other, each a place in code and how many times it is passed, and a few instructions.
//! An execution is determined by its schedule, so this leads to the same place every time.

use std::fmt;
use std::str::FromStr;

/// A place in an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    /// How many steps were chosen before: the step with this number, from 1, is under way; 0 is
    /// what main does before its first.
    pub(crate) step: u64,
    pub(crate) place: Place,
}

/// A place in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Its task was chosen, and nothing of it has happened.
    Chosen,
    /// In the program's code.
    Inside(Vec<Leg>),
    /// Where the execution is over.
    End,
}

/// A part of the way into a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leg {
    pub(crate) until: Until,
    /// So many times.
    pub(crate) times: u64,
    /// And then so many instructions of the program.
    pub(crate) then: u64,
    /// How many of these instructions stood where the leg's first part ended.
    pub(crate) passes: u64,
}

/// What ends the first part of a leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// The task comes out of the runtime.
    Entry,
    /// This instruction is about to be executed.
    At(u64),
    /// This memory was touched.
    Touched(Watch),
    /// A signal arrives.
    Signal,
    /// The program makes a system call that is not one of the runtime's.
    Call,
    /// This instruction is about to be executed with this in the registers: where somebody stopped it at will.
    Like(u64, u64),
}

/// Memory that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Watch {
    pub(crate) address: u64,
    /// 1, 2, 4 or 8, and the address is a multiple of it.
    pub(crate) len: u8,
    pub(crate) kind: Access,
}

/// What kind of access is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    /// The processor cannot tell reads alone: this is both, under another name.
    Read,
    Both,
}

impl Leg {
    pub(crate) fn new(until: Until, times: u64) -> Leg {
        Leg { until, times, then: 0, passes: 0 }
    }
}

impl Position {
    /// Where a step begins.
    pub(crate) fn chosen(step: u64) -> Position {
        Position { step, place: Place::Chosen }
    }

    /// Where the program's code goes on in a step.
    pub(crate) fn entry(step: u64) -> Position {
        Position::inside(step, vec![Leg::new(Until::Entry, 1)])
    }

    pub(crate) fn inside(step: u64, legs: Vec<Leg>) -> Position {
        Position { step, place: Place::Inside(legs) }
    }

    /// The place after one more instruction, which now stands at `rip`.
    pub(crate) fn advance(&mut self, rip: u64) {
        if let Place::Inside(legs) = &mut self.place
            && let Some(leg) = legs.last_mut()
        {
            leg.then += 1;
            if leg.until == Until::At(rip) {
                leg.passes += 1;
            }
        }
    }

    /// The place where something happened for the `times`-th time from here on.
    pub(crate) fn reached(&mut self, until: Until, times: u64) {
        let Place::Inside(legs) = &mut self.place else {
            self.place = Place::Inside(vec![Leg::new(until, times)]);
            return;
        };
        match legs.last_mut() {
            // A place that is passed again and again needs no list of the times.
            Some(leg) if leg.until == until && matches!(until, Until::At(_)) => {
                *leg = Leg::new(until, leg.times + leg.passes + times);
            }
            Some(leg) if leg.until == until && leg.then == 0 => leg.times += times,
            _ => legs.push(Leg::new(until, times)),
        }
    }

    /// The same place but for the instructions after the last leg, and their number.
    pub(crate) fn split(&self) -> (Position, u64) {
        let mut start = self.clone();
        let mut then = 0;
        if let Place::Inside(legs) = &mut start.place
            && let Some(leg) = legs.last_mut()
        {
            then = std::mem::take(&mut leg.then);
            leg.passes = 0;
        }
        (start, then)
    }

    /// This place with so many instructions after its last leg.
    pub(crate) fn with(&self, then: u64) -> Position {
        let mut position = self.clone();
        if let Place::Inside(legs) = &mut position.place
            && let Some(leg) = legs.last_mut()
        {
            leg.then = then;
            leg.passes = 0;
        }
        position
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.step)?;
        match &self.place {
            Place::Chosen => Ok(()),
            Place::End => f.write_str(".end"),
            Place::Inside(legs) => {
                for leg in legs {
                    match leg.until {
                        Until::Entry => f.write_str(".")?,
                        Until::At(address) => write!(f, ".{address:x}*{}", leg.times)?,
                        Until::Touched(watch) => write!(f, ".{watch}*{}", leg.times)?,
                        Until::Signal => write!(f, ".s{}", leg.times)?,
                        Until::Call => write!(f, ".c{}", leg.times)?,
                        Until::Like(address, _) => write!(f, ".{address:x}")?,
                    }
                    if leg.then > 0 || leg.until == Until::Entry {
                        write!(f, "+{}", leg.then)?;
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

    /// What [`Position`] is displayed as. Where somebody stopped a program at will has no such name.
    fn from_str(text: &str) -> Result<Position, ()> {
        let (step, place) = match text.split_once('.') {
            None => (text, Place::Chosen),
            Some((step, "end")) => (step, Place::End),
            Some((step, legs)) => {
                (step, Place::Inside(legs.split('.').map(leg).collect::<Option<_>>().ok_or(())?))
            }
        };
        Ok(Position { step: step.parse().map_err(drop)?, place })
    }
}

fn leg(text: &str) -> Option<Leg> {
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
    (times > 0).then_some(Leg { then, ..Leg::new(until, times) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_passed_again_and_again_is_one_leg() {
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
    fn places_have_names() {
        assert_eq!(Position::chosen(7).to_string(), "7");
        assert_eq!(Position::entry(7).to_string(), "7.+0");
        assert_eq!(Position { step: 9, place: Place::End }.to_string(), "9.end");
    }

    #[test]
    fn names_are_read_again() {
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
            // An empty leg is where the step begins.
            let parsed: Result<Position, ()> = nonsense.parse();
            assert!(parsed.is_err() || nonsense == "7.", "{nonsense}");
        }
    }
}
