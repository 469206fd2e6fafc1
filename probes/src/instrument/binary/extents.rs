//! Arguments of library functions that lead to several ranges of memory: vectors of buffers, messages, the
//! arguments of a format, the environment.

use crate::detect::access::{Access, is_in_company, look, peek};
use crate::instrument::binary::calls::report_unexplored;
use crate::instrument::binary::effective_address::address;
use crate::instrument::binary::lists;
use crate::instrument::binary::operand::{LOWEST, Measure, NONE, Operand};
use crate::instrument::binary::variable_arguments::{
    Arguments, VariableArguments, length, wide_length,
};
use crate::instrument::binary::{file_changes, hidden_state, keys, open_files};
use crate::instrument::binary::{printed, scan, streams};
use crate::memory::shared_views;
use crate::state::open_words;
use crate::state::world::world;

/// How many buffers a call may have (`IOV_MAX`), and how many messages and variables are followed.
const MOST: u64 = 1024;
/// The sizes of `struct iovec`, `struct msghdr` and `struct mmsghdr`.
const BUFFER: u64 = 16;
const MESSAGE: u64 = 64;

/// Calls `each` with address and size of every range that the operand leads to; false if it leads to a single
/// one, which the caller finds.
pub(super) fn several(
    operand: &Operand,
    arguments: &Arguments<'_>,
    each: &mut dyn FnMut(u64, u64),
) -> bool {
    let register = |number: u8| arguments.general[usize::from(number)];
    if !operand.when.holds(arguments.general) {
        return true;
    }
    match operand.measure {
        Measure::Scan { first, list, text } => {
            let next = VariableArguments::new(first, list, arguments);
            let most = text.map(|text| length(register(text), None));
            if scan::follow(register(operand.base), next, most, each).is_none() {
                report_unexplored("scanf", "libc, with a format that is not known", arguments.site);
            }
        }
        Measure::Printed { format, first, list } => {
            let next = VariableArguments::new(first, list, arguments);
            let to = register(operand.base);
            match printed::length(register(format), next) {
                Some(size) => each(to, size),
                None => report_unexplored(
                    "sprintf",
                    "libc, with a format that is not known",
                    arguments.site,
                ),
            }
        }
        Measure::Appended { text, most, wide } => {
            let (to, from) = (register(operand.base), register(text));
            if to < LOWEST || from < LOWEST {
                return true;
            }
            let most = most.map(register);
            let (behind, size) = match wide {
                true => {
                    let most = most.unwrap_or(u64::MAX);
                    (wide_length(to, u64::MAX) - 4, wide_length(from, most))
                }
                false => (length(to, None) - 1, length(from, most)),
            };
            each(to + behind, size.max(1));
        }
        Measure::Continued => {
            let text = peek(operand.displacement, 8);
            if text >= LOWEST {
                each(text, length(text, None));
            }
        }
        Measure::Block => {
            let address = address(operand, arguments.general);
            if let Some(block) = crate::memory::arena::find(address) {
                each(block.address, block.size);
            }
        }
        Measure::Segment => {
            let start = register(operand.base);
            if let Some(size) = shared_views::segment_at(start) {
                each(start, size);
            }
        }
        Measure::Number => file_changes::hold_number(arguments.site),
        Measure::Stream => streams::used(register(operand.base), each),
        Measure::StandardStream => streams::used(peek(operand.displacement, 8), each),
        Measure::StreamUse { locks } => {
            let stream = match operand.base {
                NONE => peek(operand.displacement, 8),
                number => register(number),
            };
            streams::note_use(stream, locks, operand.writes, arguments.site);
        }
        Measure::Descriptor(number) => {
            open_files::each_word(register(number), arguments.site, each);
        }
        Measure::Taken { from, len } => {
            open_files::each_taken((register(from), register(len)), arguments.site, each);
        }
        Measure::Given(number) => {
            open_files::each_given(register(number), arguments.site, each);
        }
        Measure::Closed(number) => open_files::each_closed(register(number), each),
        Measure::Key(number) => each(keys::word(register(number) as u32), 8),
        Measure::Descriptors => {
            let (start, size) = open_words::all();
            each(start, size);
        }
        Measure::Path | Measure::Ends => {
            let path = register(operand.base);
            if path >= LOWEST {
                open_files::each_at_path(path, operand.measure == Measure::Ends, each);
            }
        }
        Measure::Slot(number) => open_files::may_share(register(number), each),
        Measure::OwnName => each(world().task().block.get(), 8),
        Measure::TokenPosition => each(operand.displacement, 8),
        Measure::Unprotected { excludes } if is_in_company() => look(&Access {
            address: operand.displacement,
            size: 8,
            writes: operand.writes,
            atomic: excludes,
            proven: false,
            site: arguments.site,
            in_parts: false,
        }),
        Measure::Unprotected { .. } => {}
        Measure::AllStreams => streams::all_used(peek(operand.displacement, 8), each),
        Measure::Hidden { hidden, changes } => {
            hidden_state::uses(operand.function_name(), (hidden, changes), operand, arguments);
        }
        Measure::HiddenKnown => {
            hidden_state::all_known(arguments.site, each);
        }
        Measure::Buffers(count) => buffers(register(operand.base), register(count), each),
        Measure::Message => message(register(operand.base), each),
        Measure::Messages(count) => {
            let first = register(operand.base);
            (0..(register(count) as u32 as u64).min(MOST))
                .for_each(|at| message(first + at * MESSAGE, each));
        }
        Measure::Texts(count) => {
            lists::texts(register(operand.base), count.map(register), each);
        }
        Measure::Options => lists::options(register(operand.base), each),
        Measure::OptionFlags => lists::option_flags(register(operand.base), each),
        Measure::Format { first, list } => {
            let format = register(operand.base);
            let next = VariableArguments::new(first, list, arguments);
            if format >= LOWEST && follow(format, next, operand.writes, each).is_none() {
                report_unexplored(
                    "printf",
                    "libc, with a format that is not known",
                    arguments.site,
                );
            }
        }
        Measure::Environment => {
            let variable = operand.displacement;
            each(variable, 8);
            let list = peek(variable, 8);
            if list >= LOWEST {
                let len = (0..MOST).find(|at| peek(list + 8 * at, 8) == 0).unwrap_or(MOST - 1);
                each(list, 8 * (len + 1));
                (0..len).map(|at| peek(list + 8 * at, 8)).for_each(|text| {
                    if is_programs_own(text) {
                        each(text, length(text, None));
                    }
                });
            }
        }
        _ => return false,
    }
    true
}

/// Whether the program put a string into the environment: the others are above main's stack.
fn is_programs_own(text: u64) -> bool {
    text >= LOWEST && text < world().tasks[0].stack.get().low
}

fn buffers(first: u64, count: u64, each: &mut dyn FnMut(u64, u64)) {
    if first < LOWEST {
        return;
    }
    for at in 0..count.min(MOST) {
        let buffer = first + at * BUFFER;
        let (start, size) = (peek(buffer, 8), peek(buffer + 8, 8));
        if start >= LOWEST && size > 0 {
            each(start, size);
        }
    }
}

/// A `struct msghdr`: its address, its buffers, and its control data.
fn message(header: u64, each: &mut dyn FnMut(u64, u64)) {
    if header < LOWEST {
        return;
    }
    let word = |offset: u64| peek(header + offset, 8);
    let ranges = [(word(0), peek(header + 8, 4)), (word(32), word(40))];
    for (start, size) in ranges {
        if start >= LOWEST && size > 0 {
            each(start, size);
        }
    }
    buffers(word(16), word(24), each);
}

/// Follows a format of `printf`: the strings that it reads, or with `writes` the numbers that it writes
/// (`%n`). None if it has a form that is not known.
fn follow(
    format: u64,
    mut next: VariableArguments<'_>,
    writes: bool,
    each: &mut dyn FnMut(u64, u64),
) -> Option<()> {
    let mut at = format;
    let byte = |at: u64| peek(at, 1) as u8;
    loop {
        match byte(at) {
            0 => return Some(()),
            b'%' => at += 1,
            _ => {
                at += 1;
                continue;
            }
        }
        while b"-+ #0'I".contains(&byte(at)) {
            at += 1;
        }
        next.number(&mut at);
        let mut precision = None;
        if byte(at) == b'.' {
            at += 1;
            precision = u64::try_from(next.number(&mut at)).ok();
        }
        let size = at;
        while b"hlqjztL".contains(&byte(at)) {
            at += 1;
        }
        let is_long = byte(size) == b'L';
        let is_wide = byte(size) == b'l';
        let conversion = byte(at);
        at += 1;
        match conversion {
            b'%' | b'm' => {}
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' | b'c' | b'C' | b'p' => {
                next.word();
            }
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => next.skip_number(is_long),
            b's' | b'S' => {
                let text = next.word();
                if text >= LOWEST && !writes {
                    let len = match conversion == b'S' || is_wide {
                        true => wide_length(text, precision.unwrap_or(u64::MAX)),
                        false => length(text, precision),
                    };
                    if len > 0 {
                        each(text, len);
                    }
                }
            }
            b'n' => {
                let to = next.word();
                let size = match at - 1 - size {
                    0 => 4,
                    2 if byte(size) == b'h' => 1,
                    _ if byte(size) == b'h' => 2,
                    _ => 8,
                };
                if to >= LOWEST && writes {
                    each(to, size);
                }
            }
            _ => return None,
        }
    }
}
