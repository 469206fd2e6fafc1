//! Packets that gdbstub 0.7 does not support, and packets over which it would end the session.

use super::debuggee::{Debuggee, PROCESS};
use super::packet::{MOST, hex, number, pair, unhex};
use super::tls;
use crate::Error;
use crate::debug::execution::Condition;
use crate::debug::process::tasks::Thread;
use crate::symbols::read_maps;
use traces::Execution;

const OK: &[u8] = b"OK";
pub(super) const REFUSED: &[u8] = b"E01";

/// Features that gdbstub does not announce and that are implemented here.
pub(super) const FEATURES: &str = ";qXfer:threads:read+;qXfer:siginfo:read+;QPassSignals+;\
                                   QProgramSignals+;QThreadEvents+;ConditionalBreakpoints+";

/// The packet in a form that gdbstub accepts; `stopped` is the task that an unnamed thread stands
/// for.
pub(super) fn accepted(packet: &[u8], stopped: u16) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(packet) else { return packet.to_vec() };
    if let Some(thread) = text.strip_prefix("Hc").or_else(|| text.strip_prefix("Hg"))
        && thread_number(thread) == Some(None)
    {
        // "All threads" cannot be inspected or stepped: the stopped thread is meant.
        return [&packet[..2], b"0"].concat();
    }
    if let Some(actions) = text.strip_prefix("vCont;") {
        let known = actions.split(';').filter(|action| !action.starts_with('t'));
        let one = known.map(|action| match action.as_bytes().first() {
            Some(b's' | b'S' | b'r') if !action.contains(':') => {
                format!(";{action}:{}", thread_id(stopped))
            }
            _ => format!(";{action}"),
        });
        return format!("vCont{}", one.collect::<String>()).into_bytes();
    }
    if let Some((address, len)) = text.strip_prefix('m').and_then(pair) {
        // Each byte takes two digits; the debugger asks again for the rest.
        let len = len.min(MOST as u64 / 2 - 16);
        return format!("m{address:x},{len:x}").into_bytes();
    }
    if text.starts_with('G') {
        // Unknown registers are ignored.
        return text.replace('x', "0").into_bytes();
    }
    packet.to_vec()
}

/// Whether one particular thread is to continue alone, if the packet says. gdb names a thread when
/// the others must not run, as in stepping over a breakpoint.
pub(super) fn is_one_alone(packet: &[u8]) -> Option<bool> {
    let thread = std::str::from_utf8(packet).ok()?.strip_prefix("Hc")?;
    Some(matches!(thread_number(thread), Some(Some(_))))
}

impl Debuggee<'_> {
    /// The answer to a packet that gdbstub does not support; none if gdbstub handles it.
    pub(super) fn extra_packet(&mut self, packet: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let Ok(text) = std::str::from_utf8(packet) else { return Ok(None) };
        let end = text.find([':', ';', ',']).unwrap_or(text.len());
        let (name, rest) = (&text[..end], text.get(end + 1..).unwrap_or_default());
        Ok(Some(match name {
            "qSupported" => {
                // Only gdb announces this feature.
                self.is_gdb = rest.contains("qRelocInsn+");
                self.session.execution.begins_at_creator = !self.is_gdb;
                return Ok(None);
            }
            "qXfer" => return self.transfer(rest),
            "qGetTLSAddr" => self.thread_local(rest)?,
            // A command of the debugger's script, with one answer.
            "qHeddle" => {
                let command = unhex(rest).unwrap_or_default();
                let command = String::from_utf8_lossy(&command);
                let said = self.session.answer_script(&command);
                hex(&said.as_bytes()[..said.len().min(MOST / 2 - 64)]).into_bytes()
            }
            "qMemoryRegionInfo" => self.region(rest),
            "qSymbol"
            | "QPassSignals"
            | "QProgramSignals"
            | "QThreadEvents"
            | "QListThreadsInStopReply" => OK.to_vec(),
            "qThreadExtraInfo" => {
                // gdbstub queries thread names from code that cannot read the threads, so they are
                // read in advance.
                self.session.execution.threads()?;
                return Ok(None);
            }
            // lldb allocates memory: size, then permissions.
            _ if name.starts_with("_M") => {
                let address = number(&name[2..]).and_then(|size| self.session.allocate(size));
                address.map_or(REFUSED.to_vec(), |address| format!("{address:x}").into_bytes())
            }
            _ if name.starts_with("_m") => OK.to_vec(),
            _ if name.starts_with("qThreadStopInfo") => {
                match thread_number(&name["qThreadStopInfo".len()..]) {
                    Some(Some(task)) => self.stop_reply_of(task),
                    _ => REFUSED.to_vec(),
                }
            }
            _ if name.starts_with('Z') => {
                self.conditions = text.split_once(';').map_or(Vec::new(), |(_, it)| conditions(it));
                return Ok(None);
            }
            _ => return Ok(None),
        }))
    }

    /// `object:read:annex:offset,length`.
    fn transfer(&mut self, text: &str) -> Result<Option<Vec<u8>>, Error> {
        let mut fields = text.splitn(4, ':');
        let whole = match fields.next().unwrap_or_default() {
            "threads" => {
                let threads = self.session.threads()?;
                thread_list(&threads, &self.session.execution.trace.execution).into_bytes()
            }
            "siginfo" => match self.session.execution.live().siginfo() {
                Some(info) => info.to_vec(),
                None => return Ok(Some(REFUSED.to_vec())),
            },
            _ => return Ok(None),
        };
        let place = fields.nth(2).and_then(pair);
        let Some((offset, len)) = place else { return Ok(Some(REFUSED.to_vec())) };
        let from = (offset as usize).min(whole.len());
        let to = from.saturating_add((len as usize).min(MOST / 2 - 16)).min(whole.len());
        let more = if to < whole.len() { b'm' } else { b'l' };
        Ok(Some([&[more], &whole[from..to]].concat()))
    }

    /// `thread,offset,link map`.
    fn thread_local(&mut self, text: &str) -> Result<Vec<u8>, Error> {
        let fields: Vec<&str> = text.split(',').collect();
        let [thread, offset, link_map] = fields[..] else { return Ok(REFUSED.to_vec()) };
        let (Some(Some(task)), Some(offset), Some(link_map)) =
            (thread_number(thread), number(offset), number(link_map))
        else {
            return Ok(REFUSED.to_vec());
        };
        let execution = &mut self.session.execution;
        let block = execution.thread(task)?.map(|thread| thread.info.thread_pointer);
        let memory = execution.live().tracee();
        let found = block
            .and_then(|block| tls::address(&execution.symbols, memory, block, link_map, offset));
        Ok(found.map_or(REFUSED.to_vec(), |address| format!("{address:x}").into_bytes()))
    }

    fn region(&self, text: &str) -> Vec<u8> {
        let Some(address) = number(text) else { return REFUSED.to_vec() };
        let pid = self.session.execution.live().tracee().pid();
        let maps = read_maps(pid).unwrap_or_default();
        let inside = maps.iter().find(|mapping| mapping.range.contains(&address));
        if let Some(mapping) = inside {
            let (start, len) = (mapping.range.start, mapping.range.end - mapping.range.start);
            let kind = if mapping.executable { "rx" } else { "rw" };
            return format!("start:{start:x};size:{len:x};permissions:{kind};").into_bytes();
        }
        let starts = maps.iter().map(|mapping| mapping.range.start);
        let next = starts.filter(|&start| start > address).min().unwrap_or(u64::MAX);
        format!("start:{address:x};size:{:x};", next - address).into_bytes()
    }
}

fn thread_list(threads: &[Thread], execution: &Execution) -> String {
    let mut text = String::from("<threads>\n");
    for thread in threads {
        text.push_str(&format!(
            "<thread id=\"{}\" core=\"0\" name=\"{}\">{}</thread>\n",
            thread_id(thread.task),
            xml(&thread.name),
            xml(&thread.state(execution))
        ));
    }
    text.push_str("</threads>\n");
    text
}

/// The agent expressions of a breakpoint: `X` length `,` bytes, repeated.
fn conditions(text: &str) -> Vec<Condition> {
    let mut conditions = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.strip_prefix('X').or_else(|| rest.strip_prefix(";X")) {
        let Some((len, bytes)) = start.split_once(',') else { break };
        let len = number(len).and_then(|len| usize::try_from(len).ok()?.checked_mul(2));
        let Some(len) = len else { break };
        let Some(code) = bytes.get(..len).and_then(unhex) else { break };
        conditions.push(code);
        rest = &bytes[len..];
    }
    conditions
}

/// The thread id of a task in the protocol.
pub(super) fn thread_id(task: u16) -> String {
    format!("p{PROCESS:x}.{:x}", u32::from(task) + 1)
}

/// The task of a thread id; `Some(None)` for any or all threads.
fn thread_number(text: &str) -> Option<Option<u16>> {
    let id = match text.strip_prefix('p') {
        Some(both) => both.split_once('.').map_or("-1", |(_, thread)| thread),
        None => text,
    };
    match id {
        "" | "0" | "-1" => Some(None),
        id => {
            let number = number(id)?.checked_sub(1)?;
            Some(Some(u16::try_from(number).ok()?))
        }
    }
}

/// Escapes text for XML.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn threads_have_ids_of_process_and_task() {
        assert_eq!(thread_id(0), "p1.1");
        for (text, expected) in [
            ("p1.3", Some(Some(2))),
            ("a", Some(Some(9))),
            ("p1.-1", Some(None)),
            ("-1", Some(None)),
            ("0", Some(None)),
            ("", Some(None)),
            ("p1.zz", None),
            ("ffffffff", None),
        ] {
            assert_eq!(thread_number(text), expected, "{text}");
        }
    }

    #[test]
    fn a_named_thread_continues_alone() {
        for (packet, expected) in [
            ("Hcp1.3", Some(true)),
            ("Hcp1.0", Some(false)),
            ("Hc-1", Some(false)),
            ("Hgp1.3", None),
        ] {
            assert_eq!(is_one_alone(packet.as_bytes()), expected, "{packet}");
        }
    }

    #[test]
    fn conditions_are_split_by_their_lengths() {
        assert_eq!(conditions("X3,2a0127;X1,27"), [vec![0x2a, 1, 0x27], vec![0x27]]);
        assert_eq!(conditions("X3,2a0127X1,27"), [vec![0x2a, 1, 0x27], vec![0x27]]);
        assert_eq!(conditions("Xz"), Vec::<Vec<u8>>::new());
        assert_eq!(conditions("X9,27"), Vec::<Vec<u8>>::new());
        assert_eq!(conditions("Xffffffffffffffff,27"), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn packets_that_would_end_the_session_are_rewritten() {
        for (packet, expected) in [
            ("Hcp1.-1", "Hc0"),
            ("Hg-1", "Hg0"),
            ("Hgp1.2", "Hgp1.2"),
            ("vCont;s", "vCont;s:p1.3"),
            ("vCont;s:p1.1;c", "vCont;s:p1.1;c"),
            ("vCont;t;c", "vCont;c"),
            ("vCont?", "vCont?"),
            ("m10,ffffffff", "m10,fff0"),
            ("mzz", "mzz"),
            ("Gxx11", "G0011"),
        ] {
            let said = accepted(packet.as_bytes(), 2);
            assert_eq!(String::from_utf8_lossy(&said), expected, "{packet}");
        }
    }

    proptest! {
        #[test]
        fn any_packet_is_valid_input(packet: Vec<u8>, text: String, task: u16) {
            accepted(&packet, task);
            accepted(format!("vCont;{text}").as_bytes(), task);
            conditions(&text);
            thread_number(&text);
            xml(&text);
        }
    }
}
