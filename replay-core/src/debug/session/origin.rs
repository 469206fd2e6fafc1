//! `origin`: where a value came from.

use super::Session;
use crate::Error;
use crate::debug::dataflow::Location;
use crate::debug::execution::origin::{Beginning, Executed, Origin};
use std::fmt::Write;

/// The largest value that is followed.
const LARGEST: u64 = 8;

impl Session<'_> {
    /// Where the value of `len` bytes at an address came from. None if the arguments are no such numbers.
    pub(super) fn origin_of(&mut self, arguments: &[&str]) -> Option<Result<String, Error>> {
        let [address, len] = arguments else { return None };
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).ok()?;
        let len: u64 = len.parse().ok()?;
        if len == 0 || len > LARGEST {
            return Some(Ok(format!(
                "a value of {len} bytes is not followed: ask for a part of it, of at most {LARGEST}\n"
            )));
        }
        if self.undivert() {
            self.print("[sched] changes discarded: the origin is in the recorded execution\n");
        }
        let found = self.execution.origin(address, len);
        Some(found.map(|origin| self.origin_text(&origin)))
    }

    fn origin_text(&self, origin: &Origin) -> String {
        let mut text = String::new();
        for hop in &origin.hops {
            let (to, from) = (self.location_text(hop.to), self.location_text(hop.from));
            let _ = writeln!(text, "  {}  {to} from {from}", self.place_text(&hop.place));
        }
        let beginning = match &origin.beginning {
            Beginning::Constant(value) => format!("the constant {value:#x}"),
            Beginning::Computed(instruction) => format!("computed by `{instruction}`"),
            Beginning::Call { function, returned: true } => format!("returned by `{function}`"),
            Beginning::Call { function, returned: false } => format!("written by `{function}`"),
            Beginning::Kernel => "returned by a system call".to_owned(),
            Beginning::Initial => "in this memory from the program's beginning on".to_owned(),
            Beginning::Start => "passed to the program when it began".to_owned(),
            Beginning::Unknown(reason) => format!("unknown: {reason}"),
        };
        match &origin.place {
            Some(place) => {
                let _ = writeln!(text, "  {}  {beginning}", self.place_text(place));
            }
            None => {
                let _ = writeln!(text, "  {beginning}");
            }
        }
        text
    }

    fn place_text(&self, place: &Executed) -> String {
        let code = self.code_text(place.address);
        let called = place.call.map(|call| format!(", called at {}", self.code_text(call)));
        let called = called.unwrap_or_default();
        format!("step {}  T{}  {code}{called}  position {}", place.step, place.task, place.position)
    }

    /// The function and the line of an address, as far as they are known.
    pub(super) fn code_text(&self, address: u64) -> String {
        let symbols = &self.execution.symbols;
        let site = symbols.site(address);
        let frame = site.and_then(|site| symbols.frames(site, true).into_iter().next());
        match frame {
            Some(frame) => format!("{} {}", frame.function, frame.place()),
            None => format!("{address:#x}"),
        }
    }

    fn location_text(&self, location: Location) -> String {
        match location {
            Location::Memory { address, len } => {
                let symbols = &self.execution.symbols;
                let name = symbols.site(address).and_then(|site| symbols.variable(site));
                let name = name.unwrap_or_else(|| format!("{address:#x}"));
                format!("{name} ({len} bytes)")
            }
            Location::Register { register, offset, len } => {
                let register = format!("{register:?}").to_lowercase();
                match (offset, len) {
                    (0, 8) => register,
                    (0, len) => format!("{register} ({len} bytes)"),
                    (offset, len) => format!("{register} ({len} bytes from {offset})"),
                }
            }
        }
    }
}
