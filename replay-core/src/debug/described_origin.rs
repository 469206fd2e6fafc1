//! The way of a value as lines of text with their places.

use super::dataflow::Location;
use super::execution::Execution;
use super::execution::origin::{Beginning, Executed, Origin};
use traces::{Frame, TaskId};

/// The largest value that is followed, in bytes.
pub(super) const LARGEST: u64 = 8;

/// One copy of a value, or where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginLine {
    /// What happened to the value there.
    pub event: OriginEvent,
    /// The instruction; none for what has none.
    pub place: Option<OriginPlace>,
}

/// Where a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuePlace {
    /// The variable, address or register, with the number of bytes.
    pub name: String,
    /// Whether it is a register.
    pub is_register: bool,
}

/// What happened to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OriginEvent {
    /// It was copied between memory or registers.
    Copied {
        /// Where to.
        to: ValuePlace,
        /// Where from.
        from: ValuePlace,
    },
    /// It begins with this.
    Begins(String),
}

/// An instruction in an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginPlace {
    /// The step that the instruction belongs to, from 1; 0 is before the first.
    pub step: u64,
    /// The task that executed it.
    pub task: TaskId,
    /// The function and line.
    pub frame: Option<Frame>,
    /// The program's call that led there, from code without lines.
    pub call: Option<Frame>,
    /// The address of the instruction.
    pub address: u64,
    /// The position before it, as the debugger's commands take it.
    pub position: String,
}

impl Execution {
    /// The lines for an origin: from the last copy backwards.
    pub(super) fn describe_origin(&self, origin: &Origin) -> Vec<OriginLine> {
        let copies = origin.hops.iter().map(|hop| OriginLine {
            event: OriginEvent::Copied {
                to: self.value_place(hop.to),
                from: self.value_place(hop.from),
            },
            place: Some(self.origin_place(&hop.place)),
        });
        let beginning = OriginLine {
            event: OriginEvent::Begins(beginning_text(&origin.beginning)),
            place: origin.place.as_ref().map(|place| self.origin_place(place)),
        };
        copies.chain([beginning]).collect()
    }

    fn value_place(&self, location: Location) -> ValuePlace {
        let is_register = matches!(location, Location::Register { .. });
        ValuePlace { name: self.location_text(location), is_register }
    }

    fn origin_place(&self, place: &Executed) -> OriginPlace {
        OriginPlace {
            step: place.step,
            task: TaskId(place.task),
            frame: self.frame_at(place.address),
            call: place.call.and_then(|call| self.frame_at(call)),
            address: place.address,
            position: place.position.to_string(),
        }
    }

    /// The function and the line of an address.
    pub(super) fn frame_at(&self, address: u64) -> Option<Frame> {
        let site = self.symbols.site(address)?;
        self.symbols.frames(site, true).into_iter().next()
    }

    /// The function and the line of an address as text, as far as they are known.
    pub(super) fn code_text(&self, address: u64) -> String {
        frame_text(self.frame_at(address).as_ref(), address)
    }

    /// The name of memory or of a register.
    pub(super) fn location_text(&self, location: Location) -> String {
        match location {
            Location::Memory { address, len } => {
                let name = self.symbols.site(address).and_then(|site| self.symbols.variable(site));
                let name = name.unwrap_or_else(|| format!("{address:#x}"));
                format!("{name} ({len} bytes)")
            }
            Location::Register { register, offset, len } => register_text(register, offset, len),
        }
    }
}

/// A part of a register as text.
fn register_text(register: iced_x86::Register, offset: u64, len: u64) -> String {
    let register = format!("{register:?}").to_lowercase();
    match (offset, len) {
        (0, 8) => register,
        (0, len) => format!("{register} ({len} bytes)"),
        (offset, len) => format!("{register} ({len} bytes from byte {offset} on)"),
    }
}

impl OriginLine {
    /// What happened to the value there, with the names of registers.
    pub(super) fn exact_text(&self) -> String {
        match &self.event {
            OriginEvent::Copied { to, from } => format!("{} from {}", to.name, from.name),
            OriginEvent::Begins(what) => what.clone(),
        }
    }

    /// What happened to the value there, without the names of registers, which the compiler chooses.
    #[must_use]
    pub fn what(&self) -> String {
        let (to, from) = match &self.event {
            OriginEvent::Copied { to, from } => (to, from),
            OriginEvent::Begins(what) => return what.clone(),
        };
        match (to.is_register, from.is_register) {
            (true, true) => "passed in registers".to_owned(),
            (true, false) => format!("read from {}", from.name),
            (false, true) => format!("written to {}", to.name),
            (false, false) => format!("copied from {} to {}", from.name, to.name),
        }
    }

    /// The same lines with one copy for all that follow each other at one source line: registers
    /// within a statement mean little to a reader.
    #[must_use]
    pub fn merged(lines: Vec<OriginLine>) -> Vec<OriginLine> {
        let mut merged: Vec<OriginLine> = Vec::new();
        for line in lines {
            if let Some(last) = merged.last_mut()
                && let OriginEvent::Copied { from, .. } = &mut last.event
                && let OriginEvent::Copied { from: earlier, .. } = &line.event
                && let (Some(there), Some(here)) = (&last.place, &line.place)
                && there.is_at_line_of(here)
            {
                from.clone_from(earlier);
                continue;
            }
            merged.push(line);
        }
        merged
    }
}

impl OriginPlace {
    /// The program's own function and line: of the call, in code without lines.
    #[must_use]
    pub fn own_frame(&self) -> Option<&Frame> {
        self.call.as_ref().or(self.frame.as_ref())
    }

    fn is_at_line_of(&self, other: &OriginPlace) -> bool {
        let line = |place: &OriginPlace| {
            let frame = place.own_frame()?;
            (frame.line > 0).then(|| (frame.file.clone(), frame.line))
        };
        self.task == other.task && line(self).is_some() && line(self) == line(other)
    }

    /// The function and the line, with the call that led there.
    #[must_use]
    pub fn code(&self) -> String {
        let code = frame_text(self.frame.as_ref(), self.address);
        match &self.call {
            Some(call) => format!("{code}, called at {} {}", call.function, call.place()),
            None => code,
        }
    }
}

fn frame_text(frame: Option<&Frame>, address: u64) -> String {
    match frame {
        Some(frame) => format!("{} {}", frame.function, frame.place()),
        None => format!("{address:#x}"),
    }
}

fn beginning_text(beginning: &Beginning) -> String {
    match beginning {
        Beginning::Constant(value) => format!("the constant {value:#x}"),
        Beginning::Computed(instruction) => format!("computed by `{instruction}`"),
        Beginning::Call { function, returned: true } => format!("returned by `{function}`"),
        Beginning::Call { function, returned: false } => format!("written by `{function}`"),
        Beginning::Kernel => "returned by a system call".to_owned(),
        Beginning::Initial => "in this memory from the program's beginning on".to_owned(),
        Beginning::Start => "passed to the program when it began".to_owned(),
        Beginning::Unknown(reason) => format!("unknown: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, is_register: bool) -> ValuePlace {
        ValuePlace { name: name.to_owned(), is_register }
    }

    #[test]
    fn copies_are_described_without_the_names_of_registers() {
        let memory = || place("total", false);
        let register = || place("rax", true);
        let what =
            |to, from| OriginLine { event: OriginEvent::Copied { to, from }, place: None }.what();
        assert_eq!(what(register(), register()), "passed in registers");
        assert_eq!(what(register(), memory()), "read from total");
        assert_eq!(what(memory(), register()), "written to total");
        assert_eq!(what(memory(), place("sum", false)), "copied from sum to total");
    }

    #[test]
    fn beginnings_of_values_are_described() {
        let call = |returned| Beginning::Call { function: "getpid".to_owned(), returned };
        for (beginning, text) in [
            (Beginning::Constant(0x10), "the constant 0x10"),
            (Beginning::Computed("add".to_owned()), "computed by `add`"),
            (call(true), "returned by `getpid`"),
            (call(false), "written by `getpid`"),
            (Beginning::Kernel, "returned by a system call"),
            (Beginning::Initial, "in this memory from the program's beginning on"),
            (Beginning::Start, "passed to the program when it began"),
            (Beginning::Unknown("it is far".to_owned()), "unknown: it is far"),
        ] {
            assert_eq!(beginning_text(&beginning), text);
        }
    }

    #[test]
    fn parts_of_registers_and_calls_are_named() {
        use iced_x86::Register::RAX;
        assert_eq!(register_text(RAX, 0, 8), "rax");
        assert_eq!(register_text(RAX, 0, 4), "rax (4 bytes)");
        assert_eq!(register_text(RAX, 1, 1), "rax (1 bytes from byte 1 on)");
        let frame = |function: &str, line| Frame {
            function: function.to_owned(),
            file: "src/queue.c".to_owned(),
            line,
            ..Frame::default()
        };
        let place = OriginPlace {
            task: traces::TaskId(1),
            step: 3,
            address: 0x1000,
            frame: Some(frame("memcpy", 7)),
            call: Some(frame("push", 9)),
            position: "3".to_owned(),
        };
        assert_eq!(place.code(), "memcpy queue.c:7, called at push queue.c:9");
        let unknown = OriginPlace { frame: None, call: None, ..place };
        assert_eq!(unknown.code(), "0x1000");
    }
}
