//! The hidden state of the C library, and which functions are async-signal-safe.

use crate::instrument::binary::operand::{Measure, Operand};

/// The functions that handlers may call at any moment.
static SAFE: &str = include_str!("signal_safe.txt");

/// The hidden state that is in the process and not in the kernel, as `libc.txt` calls it, and how messages call it.
/// (Trees and hash tables are the program's own, `libraries` includes what is only read.)
pub(super) const LIBRARY_STATES: [(&str, &str); 29] = [
    ("asctime", "the text that asctime returns"),
    ("ecvt", "the text that ecvt returns"),
    ("environment", "the environment"),
    ("exit-handlers", "the list of exit handlers"),
    ("getlogin", "the name that getlogin returns"),
    ("getopt", "the position of getopt"),
    ("group", "the entry that getgrnam returns"),
    ("hosts", "the entry that gethostbyname returns"),
    ("inet_ntoa", "the text that inet_ntoa returns"),
    ("lconv", "the structure that localeconv returns"),
    ("libraries", "the list of loaded libraries"),
    ("locale", "the locale"),
    ("log", "the connection of syslog"),
    ("multibyte", "the state of multibyte conversion"),
    ("passwd", "the entry that getpwnam returns"),
    ("protocols", "the entry that getprotobyname returns"),
    ("random", "the state of the random numbers"),
    ("services", "the entry that getservbyname returns"),
    ("strerror", "the text that strerror returns"),
    ("strsignal", "the text that strsignal returns"),
    ("strtok", "the position of strtok"),
    ("textdomain", "the text domain"),
    ("timezone", "the time zone"),
    ("tm", "the structure that gmtime and localtime return"),
    ("tmpnam", "the name that tmpnam returns"),
    ("ttyname", "the name that ttyname returns"),
    (HEAP_NAME, "the heap"),
    (STREAM_NAME, "a stream"),
    (STREAMS_NAME, "the streams"),
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
    LIBRARY_STATES.iter().position(|(known, _)| *known == name)
}

/// The number of state that is no single stream. A stream has its address as its number.
pub(super) fn number(name: &str) -> u64 {
    index(name).unwrap_or(LIBRARY_STATES.len()) as u64
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
    let measure = Measure::Hidden { function, hidden, changes };
    Operand { measure, reads: false, writes: true, ..*of }
}
