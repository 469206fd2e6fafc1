//! The questions that begin with `q` and `Q`.

use super::files::PROCESS;
use super::packet::{MOST, hex, number, unhex};
use super::registers;
use super::session::{Session, thread_id, thread_number};
use super::tls;
use crate::Error;
use crate::symbols::read_maps;

const OK: &[u8] = b"OK";
const REFUSED: &[u8] = b"E01";

impl Session<'_> {
    pub(super) fn query(&mut self, kind: u8, text: &str) -> Result<Vec<u8>, Error> {
        let end = text.find([':', ';', ',']).unwrap_or(text.len());
        let (name, rest) = (&text[..end], text.get(end + 1..).unwrap_or_default());
        Ok(match (kind, name) {
            (b'q', "Supported") => self.supported(rest),
            (b'Q', "StartNoAckMode") => {
                self.connection.send(OK);
                self.connection.acknowledges = false;
                // That was the answer, and it is acknowledged like all before it.
                self.answered = true;
                Vec::new()
            }
            (b'q', "Attached") => b"0".to_vec(),
            (b'q', "C") => format!("QC{}", thread_id(self.selected)).into_bytes(),
            (b'q', "fThreadInfo") => {
                let mut tasks: Vec<u16> =
                    self.execution.threads()?.iter().map(|thread| thread.task).collect();
                let current = self.stop.task;
                // A debugger that was not told otherwise looks at the first.
                tasks.sort_by_key(|&task| (task != current, task));
                let ids: Vec<String> = tasks.into_iter().map(thread_id).collect();
                if ids.is_empty() {
                    b"l".to_vec()
                } else {
                    format!("m{}", ids.join(",")).into_bytes()
                }
            }
            (b'q', "sThreadInfo") => b"l".to_vec(),
            (b'q', "ThreadExtraInfo") => match thread_number(rest) {
                Some(Some(task)) => self.extra(task)?,
                _ => REFUSED.to_vec(),
            },
            (b'q', "ThreadStopInfo") => Vec::new(),
            (b'q', "Xfer") => self.transfer(rest)?,
            (b'q', "GetTLSAddr") => self.thread_local(rest)?,
            (b'q', "Rcmd") => {
                let command = unhex(rest).unwrap_or_default();
                let said = self.monitor(&String::from_utf8_lossy(&command));
                if !said.is_empty() {
                    self.connection.print(&said);
                }
                OK.to_vec()
            }
            // What the helper asks for: one command, one answer.
            (b'q', "Heddle") => {
                let command = unhex(rest).unwrap_or_default();
                let command = String::from_utf8_lossy(&command);
                let said = match command.strip_prefix("now ") {
                    Some(command) => self.at_once(command),
                    None => self.monitor(&command),
                };
                hex(&said.as_bytes()[..said.len().min(MOST / 2 - 64)]).into_bytes()
            }
            (b'q', "Symbol") => OK.to_vec(),
            (b'q', "HostInfo") => format!(
                "triple:{};ptrsize:8;endian:little;hostname:{};",
                hex(b"x86_64-pc-linux-gnu"),
                hex(b"heddle")
            )
            .into_bytes(),
            (b'q', "ProcessInfo") => format!(
                "pid:{PROCESS:x};parent-pid:0;real-uid:0;real-gid:0;triple:{};ostype:linux;\
                 endian:little;ptrsize:8;",
                hex(b"x86_64-pc-linux-gnu")
            )
            .into_bytes(),
            (b'q', "MemoryRegionInfo") => self.region(rest),
            (b'Q', "ThreadSuffixSupported" | "NonStop") => Vec::new(),
            (b'Q', "CatchSyscalls") => {
                let numbers = || rest.split(';').skip(1).filter_map(number);
                self.execution.armed.calls = match rest.split(';').next() {
                    Some("1") => Some(numbers().map(|number| number as i64).collect()),
                    _ => None,
                };
                OK.to_vec()
            }
            (
                b'Q',
                "PassSignals"
                | "ProgramSignals"
                | "ThreadEvents"
                | "DisableRandomization"
                | "EnvironmentReset"
                | "EnvironmentHexEncoded"
                | "EnvironmentUnset"
                | "SetWorkingDir"
                | "StartupWithShell"
                | "ListThreadsInStopReply",
            ) => OK.to_vec(),
            _ => Vec::new(),
        })
    }

    fn supported(&mut self, features: &str) -> Vec<u8> {
        // Only gdb relocates instructions.
        self.is_gdb = features.contains("qRelocInsn+");
        format!(
            "PacketSize={MOST:x};QStartNoAckMode+;multiprocess+;swbreak+;hwbreak+;\
             vContSupported+;qXfer:features:read+;qXfer:auxv:read+;qXfer:exec-file:read+;\
             qXfer:threads:read+;qXfer:siginfo:read+;QPassSignals+;QProgramSignals+;\
             QThreadEvents+;QCatchSyscalls+;ConditionalBreakpoints+;ReverseStep+;\
             ReverseContinue+;QDisableRandomization+;QStartupWithShell+;QSetWorkingDir+;\
             QEnvironmentHexEncoded+;QEnvironmentReset+;QEnvironmentUnset+"
        )
        .into_bytes()
    }

    fn extra(&mut self, task: u16) -> Result<Vec<u8>, Error> {
        let threads = self.execution.threads()?.to_vec();
        let execution = &self.execution.trace.execution;
        Ok(match threads.iter().find(|thread| thread.task == task) {
            Some(thread) => hex(thread.state(execution).as_bytes()).into_bytes(),
            None => REFUSED.to_vec(),
        })
    }

    /// `object:read:annex:offset,length`.
    fn transfer(&mut self, text: &str) -> Result<Vec<u8>, Error> {
        let mut fields = text.splitn(4, ':');
        let (object, what) = (fields.next().unwrap_or_default(), fields.next());
        let annex = fields.next().unwrap_or_default();
        let place = fields.next().and_then(super::packet::pair);
        let (Some("read"), Some((offset, len))) = (what, place) else { return Ok(Vec::new()) };
        let pid = self.execution.live().tracee().pid();
        let bytes = match object {
            "features" if annex == "target.xml" => registers::description().into_bytes(),
            "features" => return Ok(b"E00".to_vec()),
            "auxv" => std::fs::read(format!("/proc/{pid}/auxv")).unwrap_or_default(),
            "exec-file" => std::fs::read_link(format!("/proc/{pid}/exe"))
                .map(|path| path.into_os_string().into_encoded_bytes())
                .unwrap_or_default(),
            "threads" => self.thread_list()?.into_bytes(),
            "siginfo" => match self.execution.live().siginfo() {
                Some(info) => info.to_vec(),
                None => return Ok(REFUSED.to_vec()),
            },
            _ => return Ok(Vec::new()),
        };
        let from = (offset as usize).min(bytes.len());
        let to = from.saturating_add((len as usize).min(MOST / 2 - 16)).min(bytes.len());
        let more = if to < bytes.len() { b'm' } else { b'l' };
        Ok([&[more], &bytes[from..to]].concat())
    }

    fn thread_list(&mut self) -> Result<String, Error> {
        let threads = self.execution.threads()?.to_vec();
        let execution = &self.execution.trace.execution;
        let mut text = String::from("<threads>\n");
        for thread in &threads {
            text.push_str(&format!(
                "<thread id=\"{}\" core=\"0\" name=\"{}\">{}</thread>\n",
                thread_id(thread.task),
                xml(&thread.name),
                xml(&thread.state(execution))
            ));
        }
        text.push_str("</threads>\n");
        Ok(text)
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
        let block = self.execution.thread(task)?.map(|thread| thread.info.thread_pointer);
        let memory = self.execution.live().tracee();
        let found = block.and_then(|block| {
            tls::address(&self.execution.symbols, memory, block, link_map, offset)
        });
        Ok(found.map_or(REFUSED.to_vec(), |address| format!("{address:x}").into_bytes()))
    }

    fn region(&self, text: &str) -> Vec<u8> {
        let Some(address) = number(text) else { return REFUSED.to_vec() };
        let maps = read_maps(self.execution.live().tracee().pid()).unwrap_or_default();
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

/// Text as it stands in XML.
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
