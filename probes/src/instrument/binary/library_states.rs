//! The hidden state of the C library, and which functions are async-signal-safe.

use crate::instrument::binary::operand::{FunctionName, Measure, Operand};

/// The functions that handlers may call at any moment.
static SAFE: &str = include_str!("signal_safe.txt");

/// Which uses of its state the C library protects from each other (`MT-Unsafe race` in its manual).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protects {
    /// All: it holds a lock, or each thread has a separate state.
    Everything,
    /// Uses that change it from each other, but not those that only read it.
    Writers,
    /// None.
    Nothing,
}

/// The hidden state that is in the process and not in the kernel, as `libc.txt` calls it, how messages call it, and
/// what protects it. (The position of `strtok` is accessed as the library does: see
/// [`super::tokens`]. `libraries` includes what is only read.)
pub(super) const LIBRARY_STATES: [(&str, &str, Protects); 33] = [
    ("asctime", "the text that asctime returns", Protects::Nothing),
    ("break", "the end of the data segment", Protects::Nothing),
    ("drand48", "the state of drand48", Protects::Nothing),
    ("ecvt", "the text that ecvt returns", Protects::Nothing),
    ("environment", "the environment", Protects::Writers),
    ("exit-handlers", "the list of exit handlers", Protects::Everything),
    ("getlogin", "the name that getlogin returns", Protects::Nothing),
    ("getopt", "the position of getopt", Protects::Nothing),
    ("group", "the entry that getgrnam returns", Protects::Everything),
    ("hash", "the table of hsearch", Protects::Nothing),
    ("hosts", "the entry that gethostbyname returns", Protects::Everything),
    ("inet_ntoa", "the text that inet_ntoa returns", Protects::Everything),
    ("l64a", "the text that l64a returns", Protects::Nothing),
    ("lconv", "the structure that localeconv returns", Protects::Everything),
    ("libraries", "the list of loaded libraries", Protects::Everything),
    ("locale", "the locale", Protects::Writers),
    ("log", "the connection of syslog", Protects::Everything),
    ("multibyte", "the state of multibyte conversion", Protects::Nothing),
    ("passwd", "the entry that getpwnam returns", Protects::Everything),
    ("protocols", "the entry that getprotobyname returns", Protects::Everything),
    ("random", "the state of the random numbers", Protects::Everything),
    ("services", "the entry that getservbyname returns", Protects::Everything),
    ("strerror", "the text that strerror returns", Protects::Everything),
    ("strsignal", "the text that strsignal returns", Protects::Everything),
    ("strtok", "the position of strtok", Protects::Everything),
    ("textdomain", "the text domain", Protects::Everything),
    ("timezone", "the time zone", Protects::Everything),
    ("tm", "the structure that gmtime and localtime return", Protects::Everything),
    ("tmpnam", "the name that tmpnam returns", Protects::Nothing),
    ("ttyname", "the name that ttyname returns", Protects::Nothing),
    (HEAP_NAME, "the heap", Protects::Everything),
    (STREAM_NAME, "a stream", Protects::Everything),
    (STREAMS_NAME, "the streams", Protects::Everything),
];

/// Names for what has no `state:` in the table.
pub(super) const HEAP_NAME: &str = "heap";
pub(super) const STREAM_NAME: &str = "stream";
pub(super) const STREAMS_NAME: &str = "streams";

/// Whether handlers may call the function at any moment.
pub(super) fn is_safe(function: &str) -> bool {
    let lines = SAFE.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_ascii_whitespace).any(|safe| safe == function)
}

/// Which hidden state a call uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// State by its index in [`LIBRARY_STATES`].
    Named(u8),
    /// The stream at the operand.
    Stream,
    /// The stream to which the variable at the operand leads.
    StandardStream,
    AllStreams,
}

impl Hidden {
    /// State by its name in the table; none if it is the kernel's, or the program's own.
    pub(super) fn named(name: &str) -> Option<Hidden> {
        index(name).map(|index| Hidden::Named(index as u8))
    }
}

fn index(name: &str) -> Option<usize> {
    LIBRARY_STATES.iter().position(|(known, ..)| *known == name)
}

/// The number of state that is no single stream. A stream has its address as its number.
pub(super) fn number(name: &str) -> u64 {
    index(name).unwrap_or(LIBRARY_STATES.len()) as u64
}

/// The words that represent uses of state that the library does not protect. Nothing is ever written to them, and
/// none is a scheduling point: unordered uses of one are reported.
static UNPROTECTED: [u64; LIBRARY_STATES.len()] = [0; LIBRARY_STATES.len()];

/// The operand for a use, which the library does not protect from all others, of state with this name; none if
/// there is nothing to report.
pub(super) fn unprotected(name: &str, changes: bool, of: &Operand) -> Option<Operand> {
    let state = index(name)?;
    let excludes = match LIBRARY_STATES[state].2 {
        Protects::Everything => return None,
        Protects::Writers => changes,
        Protects::Nothing => false,
    };
    let displacement = &raw const UNPROTECTED[state] as u64;
    let measure = Measure::Unprotected { excludes };
    Some(Operand { measure, displacement, reads: !changes, writes: changes, ..*of })
}

/// How messages call the state whose unprotected uses this word represents, if it is one.
pub(super) fn unprotected_at(word: u64) -> Option<&'static str> {
    let offset = word.wrapping_sub(&raw const UNPROTECTED as u64);
    LIBRARY_STATES.get(offset as usize / 8).map(|(_, words, _)| *words)
}

/// The operand behind those for all uses of hidden state by a call.
pub(super) fn end(of: &Operand) -> Operand {
    Operand { measure: Measure::HiddenKnown, reads: false, writes: true, ..*of }
}

/// The operand for a use of hidden state by a call.
pub(super) fn operand(
    function: &'static str,
    hidden: Hidden,
    changes: bool,
    of: &Operand,
) -> Operand {
    let measure = Measure::Hidden { hidden, changes };
    let function = Some(FunctionName::of(function));
    Operand { measure, function, reads: false, writes: true, ..*of }
}
