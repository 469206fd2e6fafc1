//! What calls of C library functions do to memory and to state that tasks share, by `libc.txt`.
//!
//! The library itself runs at full speed: a call is an access to everything that its line names. State
//! of the library or of the kernel has no address that a program could access itself; each piece of it
//! is represented by a word of the runtime, so that everything that follows from accesses (conflicts,
//! scheduling points, dependences) follows for it as well.

use crate::instrument::binary::library_states::{self, HEAP_NAME, Hidden};
use crate::instrument::binary::operand::{Measure, Operand, When};
use crate::instrument::binary::{file_changes, parts};
use crate::state::{library_words, open_words};
use std::collections::HashMap;
use std::ffi::CStr;

static TABLE: &str = include_str!("libc.txt");

/// The effect of a function that uses streams without their locks.
const UNLOCKED: &str = "unlocked";

/// The registers of integer arguments in the System V ABI, numbered as in instruction encodings.
const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];

/// When a call has effects that last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lasting {
    Always,
    /// Unless this register is 0: the program passes no memory.
    Unless0(u8),
    /// If this register is the descriptor of a regular file, whose memory a pipe or socket then shares.
    OfFile(u8),
}

impl Lasting {
    /// Whether a call has them with these arguments. `is_file` says whether a descriptor is that of a regular file.
    pub(super) fn applies(self, general: &[u64; 16], is_file: fn(u64) -> bool) -> bool {
        match self {
            Lasting::Always => true,
            Lasting::Unless0(number) => general[usize::from(number)] != 0,
            Lasting::OfFile(number) => is_file(general[usize::from(number)]),
        }
    }
}

/// What one function does.
#[derive(Debug, Clone, Default)]
pub(super) struct Effects {
    /// Reads before writes, as the functions do.
    pub(super) operands: Vec<Operand>,
    /// Whether it has effects that the table does not describe.
    pub(super) partial: bool,
    /// Whether such effects last: later calls of other functions have them.
    pub(super) lasting: Option<Lasting>,
}

impl Effects {
    /// Whether the table describes all of it.
    pub(super) fn are_complete(&self) -> bool {
        !self.partial && self.lasting.is_none()
    }
}

/// The parsed table.
#[derive(Debug)]
pub(super) struct Catalogue {
    functions: HashMap<&'static str, &'static str>,
    states: Vec<&'static str>,
    /// The variables of the library that the program uses itself: name, address, size.
    used: Vec<(&'static CStr, u64, u64)>,
    /// The address of the variable in which `strtok` keeps where it continues.
    token: Option<u64>,
    /// The address of the variable that leads to the first stream.
    streams: Option<u64>,
    /// The address of the structure that `gmtime` and `localtime` fill in.
    time: Option<u64>,
    /// Whether the program deletes keys of thread-specific data: only then can calls with one observe what
    /// another task does.
    deletes_keys: bool,
    /// Whether the program handles signals: only then does hidden state matter for every call.
    handles_signals: bool,
    /// Whether the program may use streams without their locks.
    unlocks_streams: bool,
}

impl Catalogue {
    pub(super) fn new() -> Catalogue {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let functions: HashMap<_, _> = lines
            .filter_map(|line| line.split_once(' '))
            .map(|(name, effects)| (name, effects.trim()))
            .collect();
        let mut states: Vec<&str> = TABLE
            .split_ascii_whitespace()
            .filter_map(|word| word.strip_prefix("state:")?.rsplit_once(':'))
            .map(|(name, _)| name)
            .collect();
        states.sort_unstable();
        states.dedup();
        Catalogue {
            functions,
            states,
            used: Vec::new(),
            token: None,
            streams: None,
            time: None,
            deletes_keys: false,
            handles_signals: false,
            unlocks_streams: false,
        }
    }

    /// With the address of the variable in which `strtok` keeps where it continues, if it is known.
    pub(super) fn with_token(self, token: Option<u64>) -> Catalogue {
        Catalogue { token, ..self }
    }

    /// For a program that deletes keys of thread-specific data, or for one that does not.
    pub(super) fn with_deleted_keys(self, deletes_keys: bool) -> Catalogue {
        Catalogue { deletes_keys, ..self }
    }

    /// For a program that handles signals, or for one that does not.
    pub(super) fn with_handlers(self, handles_signals: bool) -> Catalogue {
        Catalogue { handles_signals, ..self }
    }

    /// For a program that may use streams without their locks, if it `mentions` a function by which it could.
    pub(super) fn with_unlocked_streams(self, mentions: impl Fn(&str) -> bool) -> Catalogue {
        let is_unlocked = |line: &str| line.split_ascii_whitespace().any(|word| word == UNLOCKED);
        let mut unlocked = self.functions.iter().filter(|(_, line)| is_unlocked(line));
        let unlocks_streams = unlocked.any(|(name, _)| mentions(name));
        Catalogue { unlocks_streams, ..self }
    }

    /// With the address of the variable that leads to the first stream, if it is known.
    pub(super) fn with_streams(self, streams: Option<u64>) -> Catalogue {
        Catalogue { streams, ..self }
    }

    /// With the address of the structure that `gmtime` fills in, if it is known.
    pub(super) fn with_time(self, time: Option<u64>) -> Catalogue {
        Catalogue { time, ..self }
    }

    /// Functions that access a variable of the library are then also taken to access the program's, if
    /// `used_at` has the address of one of its name.
    pub(super) fn with_variables(mut self, used_at: impl Fn(&CStr) -> Option<u64>) -> Catalogue {
        let used = |&(name, size)| Some((name, used_at(name)?, size));
        self.used.extend(VARIABLES.iter().filter_map(used));
        self
    }

    /// The address and the size of a variable that the program uses, too.
    fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let mut used = self.used.iter();
        let (_, address, size) = used.find(|(used, ..)| used.to_bytes() == name.as_bytes())?;
        Some((*address, *size))
    }

    /// Whether the table has a function.
    pub(super) fn has(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// What a function does; none if the table does not have it.
    pub(super) fn effects(&self, name: &str) -> Option<Effects> {
        let mut effects = Effects::default();
        let (&name, line) = self.functions.get_key_value(name)?;
        let mut hidden = Vec::new();
        let locks = !line.split_ascii_whitespace().any(|effect| effect == UNLOCKED);
        for effect in line.split_ascii_whitespace() {
            let (effect, when) = match effect.split_once('?') {
                Some((effect, condition)) => (effect, condition_of(condition)?),
                None => (effect, When::Always),
            };
            let known = effects.operands.len();
            match effect.split_once(':') {
                None if effect == "lasting" => effects.lasting = Some(Lasting::Always),
                None if effect == "number" => effects.operands.push(Operand {
                    measure: Measure::Number,
                    writes: true,
                    ..Operand::NOTHING
                }),
                None => effects.partial |= effect == "partial",
                Some(("lasting-file", number)) => {
                    effects.lasting = Some(Lasting::OfFile(argument(number)?));
                }
                Some(("lasting", number)) => {
                    effects.lasting = Some(Lasting::Unless0(argument(number)?));
                }
                Some((access @ ("format" | "format-list"), of)) => {
                    effects.operands.extend(format(of, access == "format-list")?);
                }
                Some((
                    access @ ("scan" | "scan-list" | "scan-stream" | "scan-stream-list"),
                    of,
                )) => {
                    effects.operands.push(scan(access, of)?);
                }
                Some(("continued", kind)) => match self.token {
                    Some(displacement) => effects.operands.push(Operand {
                        displacement,
                        measure: Measure::Continued,
                        reads: kind.contains('r'),
                        writes: kind.contains('w'),
                        ..Operand::NOTHING
                    }),
                    None => effects.partial = true,
                },
                Some(("file", of)) if of.starts_with("all:") => match self.streams {
                    Some(displacement) => effects.operands.push(Operand {
                        displacement,
                        measure: Measure::AllStreams,
                        reads: of.contains(":r"),
                        writes: of.contains('w'),
                        ..Operand::NOTHING
                    }),
                    None => effects.partial = true,
                },
                Some(("self", kind)) => effects.operands.push(Operand {
                    measure: Measure::OwnName,
                    reads: kind.contains('r'),
                    writes: kind.contains('w'),
                    ..Operand::NOTHING
                }),
                Some(("key", _)) if !self.deletes_keys => {}
                Some(("var", of)) => effects.operands.extend(self.of_variable(of)),
                Some((access, of)) => {
                    let operand = self.operand(access, of)?;
                    effects.operands.push(operand);
                    let is_stream =
                        matches!(operand.measure, Measure::Stream | Measure::StandardStream);
                    if is_stream && self.unlocks_streams {
                        let measure = Measure::StreamUse { locks };
                        effects.operands.push(Operand { measure, ..operand });
                    }
                }
            }
            // Which stream it is, a variable says.
            let stream = effect.strip_prefix("file:").and_then(|of| of.split_once(':'));
            if let Some((standard @ ("in" | "out" | "err"), _)) = stream {
                effects.operands.extend(self.of_variable(&format!("std{standard}:r")));
            }
            effects.operands[known..].iter_mut().for_each(|operand| operand.when = when);
            if let Some(operand) = self.hidden(name, effect) {
                hidden.push(Operand { when, ..operand });
            }
            if let Some(operand) = unprotected(effect) {
                effects.operands.push(Operand { when, ..operand });
            }
        }
        effects.operands.sort_by_key(|operand| operand.writes);
        parts::determine(name, &mut effects.operands);
        file_changes::join(&mut effects.operands);
        if !hidden.is_empty() && !library_states::is_safe(name) {
            hidden.push(library_states::end(&Operand::NOTHING));
            effects.operands.splice(..0, hidden);
        }
        Some(effects)
    }

    /// The use of hidden state that matters where a signal handler interrupts the call, if there is any.
    fn hidden(&self, function: &'static str, effect: &str) -> Option<Operand> {
        if effect == HEAP_NAME && self.handles_signals {
            let heap = Hidden::named(effect)?;
            return Some(library_states::operand(function, heap, true, &Operand::NOTHING));
        }
        let (access, of) = effect.split_once(':').filter(|_| self.handles_signals)?;
        let (of, kind) = of.rsplit_once(':')?;
        let (hidden, of) = match (access, of) {
            ("state", name) => (Hidden::named(name)?, Operand::NOTHING),
            ("file", "all") => (Hidden::AllStreams, Operand::NOTHING),
            ("file", "in" | "out" | "err") => {
                let displacement = standard_stream(of);
                (Hidden::StandardStream, Operand { displacement, ..Operand::NOTHING })
            }
            ("file", number) => {
                (Hidden::Stream, Operand { base: argument(number)?, ..Operand::NOTHING })
            }
            _ => return None,
        };
        Some(library_states::operand(function, hidden, kind.contains('w'), &of))
    }

    /// None if the program does not use the variable.
    fn of_variable(&self, of: &str) -> Option<Operand> {
        let (name, kind) = of.rsplit_once(':')?;
        let (displacement, size) = self.variable(name)?;
        let (reads, writes) = (kind.contains('r'), kind.contains('w'));
        Some(Operand { displacement, size, reads, writes, ..Operand::NOTHING })
    }

    fn operand(&self, access: &str, of: &str) -> Option<Operand> {
        let (kind, of) = match access {
            "state" | "fd" | "slot" | "file" | "path" | "ends" | "key" => {
                let (of, kind) = of.rsplit_once(':')?;
                (kind, of)
            }
            "takes" | "gives" | "closes" => ("w", of),
            access => (access, of),
        };
        let mut operand =
            Operand { reads: kind.contains('r'), writes: kind.contains('w'), ..Operand::NOTHING };
        match access {
            "state" => {
                if of == "strtok"
                    && let Some(position) = self.token
                {
                    (operand.displacement, operand.measure) = (position, Measure::TokenPosition);
                } else if of == "tm" {
                    (operand.displacement, operand.size) = broken_down_time(self.time);
                } else if of == "asctime" {
                    (operand.displacement, operand.size) = time_as_text();
                } else if of == "lconv" {
                    // SAFETY: `localeconv` takes no arguments, and returns the address of a static structure.
                    operand.displacement = unsafe { libc::localeconv() } as u64;
                    operand.size = size_of::<libc::lconv>() as u64;
                } else if of == "message-queues" {
                    operand.displacement = open_words::at(open_words::MESSAGE_QUEUES);
                } else if of == "semaphore-sets" {
                    operand.displacement = open_words::at(open_words::SEMAPHORE_SETS);
                } else if of == "files" {
                    operand.displacement = open_words::at(open_words::OPEN_FILES);
                } else {
                    let number = self.states.binary_search(&of).ok()?;
                    operand.displacement = library_words::at(number, self.states[number]);
                }
                if of == "environment"
                    && let Some((address, _)) = self.variable("environ")
                {
                    (operand.displacement, operand.measure) = (address, Measure::Environment);
                }
            }
            "fd" => {
                operand.measure = match of {
                    "all" => Measure::Descriptors,
                    of => Measure::Descriptor(argument(of)?),
                };
            }
            "takes" => {
                let (from, len) = of.strip_suffix(']')?.split_once('[')?;
                let len = len.strip_prefix('v').unwrap_or(len);
                operand.measure = Measure::Taken { from: argument(from)?, len: argument(len)? };
            }
            "gives" => operand.measure = Measure::Given(argument(of)?),
            "closes" => operand.measure = Measure::Closed(argument(of)?),
            "key" => operand.measure = Measure::Key(argument(of)?),
            "slot" => operand.measure = Measure::Slot(argument(of)?),
            "file" => match of {
                "in" | "out" | "err" => {
                    operand.displacement = standard_stream(of);
                    operand.measure = Measure::StandardStream;
                }
                of => (operand.base, operand.measure) = (argument(of)?, Measure::Stream),
            },
            "path" => (operand.base, operand.measure) = (argument(of)?, Measure::Path),
            "ends" => (operand.base, operand.measure) = (argument(of)?, Measure::Ends),
            _ => {
                let (base, length) = of.strip_suffix(']')?.split_once('[')?;
                operand.pointed = base.starts_with('*');
                let (base, behind) = base.split_once('.').unwrap_or((base, "0"));
                let (base, pointer_at) = base.split_once('+').unwrap_or((base, "0"));
                operand.displacement = behind.parse().ok()?;
                operand.pointer_at = pointer_at.parse().ok()?;
                operand.base = argument(base.trim_start_matches('*'))?;
                operand.size = 1;
                operand.measure = measure(operand.base, length)?;
                if let Some((_, size)) = length.split_once('#') {
                    operand.size = size.parse().ok()?;
                }
            }
        }
        Some(operand)
    }
}

/// The use of state that the library does not protect, if an effect is one.
fn unprotected(effect: &str) -> Option<Operand> {
    let (name, kind) = effect.strip_prefix("state:")?.rsplit_once(':')?;
    library_states::unprotected(name, kind.contains('w'), &Operand::NOTHING)
}

/// A condition on an argument: `0=5` a value, `3&16` bits, `0!5-7` no value in a range, `1^w` the first letter of text,
/// `2%Z` a conversion in a format, `1+40` a word that is not 0, so many bytes behind where the argument points.
fn condition_of(condition: &str) -> Option<When> {
    if let Some((number, range)) = condition.split_once('!') {
        let (low, high) = range.split_once('-')?;
        return Some(When::Outside(argument(number)?, low.parse().ok()?, high.parse().ok()?));
    }
    if let Some((number, offset)) = condition.split_once('+') {
        return Some(When::Leads(argument(number)?, offset.parse().ok()?));
    }
    if let Some((number, letter)) = condition.split_once('^') {
        return Some(When::Begins(argument(number)?, *letter.as_bytes().first()?));
    }
    if let Some((number, conversion)) = condition.split_once('%') {
        let conversion = *conversion.as_bytes().first()?;
        return Some(When::Converts(argument(number)?, conversion));
    }
    match condition.split_once('=') {
        Some((number, value)) => Some(When::Equal(argument(number)?, value.parse().ok()?)),
        None => {
            let (number, bits) = condition.split_once('&')?;
            Some(When::Bits(argument(number)?, bits.parse().ok()?))
        }
    }
}

/// What `scanf` writes by the arguments after a format.
fn scan(kind: &str, format: &str) -> Option<Operand> {
    let number = format.parse::<u8>().ok()?;
    let text = match kind.starts_with("scan-stream") {
        true => None,
        false => Some(argument(&number.checked_sub(1)?.to_string())?),
    };
    let measure = Measure::Scan { first: number + 1, list: kind.ends_with("list"), text };
    Some(Operand { base: argument(format)?, measure, writes: true, ..Operand::NOTHING })
}

/// What the arguments after a format are read for, and written.
fn format(number: &str, list: bool) -> Option<[Operand; 2]> {
    let base = argument(number)?;
    let measure = Measure::Format { first: number.parse::<u8>().ok()? + 1, list };
    let operand = Operand { base, measure, ..Operand::NOTHING };
    Some([Operand { reads: true, ..operand }, Operand { writes: true, ..operand }])
}

/// The variables of the C library that programs can use themselves, and their sizes. The program may have a
/// copy, which the library then uses, too.
const VARIABLES: [(&CStr, u64); 19] = [
    (c"stdin", 8),
    (c"stdout", 8),
    (c"stderr", 8),
    (c"program_invocation_name", 8),
    (c"program_invocation_short_name", 8),
    (c"__progname", 8),
    (c"__progname_full", 8),
    (c"error_print_progname", 8),
    (c"error_one_per_line", 4),
    (c"environ", 8),
    (c"tzname", 16),
    (c"timezone", 8),
    (c"daylight", 4),
    (c"optind", 4),
    (c"optarg", 8),
    (c"optopt", 4),
    (c"opterr", 4),
    (c"signgam", 4),
    (c"error_message_count", 4),
];

/// The structure that `gmtime` and `localtime` return, which programs read themselves. Where its address is
/// not known, a call returns it, which reads the time zone and allocates that in the program's heap.
fn broken_down_time(known: Option<u64>) -> (u64, u64) {
    let time = known.unwrap_or_else(|| {
        // SAFETY: `gmtime` reads the constant, and returns the address of a static structure.
        unsafe { libc::gmtime(&raw const EPOCH) as u64 }
    });
    (time, size_of::<libc::tm>() as u64)
}

/// The text that `asctime` and `ctime` return.
fn time_as_text() -> (u64, u64) {
    unsafe extern "C" {
        fn asctime(time: *const libc::tm) -> *const std::ffi::c_char;
    }
    // SAFETY: a time of zeros is valid, `asctime` reads it, and returns the address of a static buffer. It is
    // looked up before there are tasks, or by a call of the function, which is about to write there.
    let text = unsafe { asctime(&std::mem::zeroed()) };
    (text as u64, 26)
}

/// The address of the variable that leads to a standard stream.
fn standard_stream(name: &str) -> u64 {
    unsafe extern "C" {
        static stdin: *const std::ffi::c_void;
        static stdout: *const std::ffi::c_void;
        static stderr: *const std::ffi::c_void;
    }
    match name {
        "in" => &raw const stdin as u64,
        "out" => &raw const stdout as u64,
        _ => &raw const stderr as u64,
    }
}

static EPOCH: libc::time_t = 0;

fn argument(number: &str) -> Option<u8> {
    ARGUMENTS.get(number.parse::<usize>().ok()?).copied()
}

fn measure(base: u8, length: &str) -> Option<Measure> {
    match length {
        "options" => return Some(Measure::Options),
        "flags" => return Some(Measure::OptionFlags),
        _ => {}
    }
    if let Some(count) = length.strip_prefix("texts") {
        let count = if count.is_empty() { None } else { Some(argument(count)?) };
        return Some(Measure::Texts(count));
    }
    if let Some((count, _)) = length.split_once('#') {
        return match count.strip_suffix('*') {
            Some(count) => argument(count).map(Measure::Elements),
            None => Some(Measure::Element),
        };
    }
    for (mark, folds) in [('~', false), ('^', true)] {
        if let Some((most, other)) = length.strip_prefix('s').and_then(|of| of.split_once(mark)) {
            let most = if most.is_empty() { None } else { Some(argument(most)?) };
            return Some(Measure::Compared { other: argument(other)?, most, folds });
        }
    }
    if let Some(rest) = length.strip_prefix('s') {
        return Some(match rest.strip_prefix('@') {
            // As long as the string that another argument points to.
            Some(other) => Measure::String(argument(other)?),
            None if rest.is_empty() => Measure::String(base),
            None => Measure::BoundedString(base, argument(rest)?),
        });
    }
    if let Some(rest) = length.strip_prefix('w') {
        return Some(match rest.strip_prefix('@') {
            Some(other) => Measure::WideString(argument(other)?),
            None if rest.is_empty() => Measure::WideString(base),
            None => Measure::BoundedWideString(base, argument(rest)?),
        });
    }
    if let Some(of) = length.strip_prefix("until") {
        let mut numbers = of.split(',').map(argument);
        return Some(Measure::Until(numbers.next()??, numbers.next()??, numbers.next()??));
    }
    if let Some(of) = length.strip_prefix("printed") {
        let (format, list) = of.strip_suffix("-list").map_or((of, false), |of| (of, true));
        let first = format.parse::<u8>().ok()? + 1;
        return Some(Measure::Printed { format: argument(format)?, first, list });
    }
    for (prefix, wide) in [("+s", false), ("+w", true)] {
        if let Some(of) = length.strip_prefix(prefix) {
            let (text, most) =
                of.split_once(',').map_or((of, None), |(text, most)| (text, Some(most)));
            let most = most.map(argument).map_or(Some(None), |most| most.map(Some))?;
            return Some(Measure::Appended { text: argument(text)?, most, wide });
        }
    }
    match length {
        "block" => return Some(Measure::Block),
        "segment" => return Some(Measure::Segment),
        _ => {}
    }
    if let Some((count, size)) = length.strip_prefix('*').and_then(|of| of.split_once('*')) {
        let (size, more) = size.split_once('+').unwrap_or((size, "0"));
        let (count, size, more) = (argument(count)?, argument(size)?, more.parse().ok()?);
        return Some(Measure::PointedProduct { count, size, more });
    }
    if let Some((number, more)) = length.split_once('+') {
        return Some(Measure::Longer(argument(number)?, more.parse().ok()?));
    }
    if let Some(pointer) = length.strip_prefix('*') {
        return argument(pointer).map(Measure::Pointed);
    }
    if let Some(pointer) = length.strip_prefix('i') {
        return argument(pointer).map(Measure::PointedInt);
    }
    if let Some(count) = length.strip_prefix('v') {
        return argument(count).map(Measure::Buffers);
    }
    if let Some(count) = length.strip_prefix('m') {
        return Some(match count {
            "" => Measure::Message,
            count => Measure::Messages(argument(count)?),
        });
    }
    Some(match length.split_once('*') {
        Some((one, other)) => Measure::Product(argument(one)?, argument(other)?),
        None => Measure::Register(argument(length)?),
    })
}
