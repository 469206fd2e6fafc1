//! The page about library functions, from the runtime's catalogue of effects.

use std::fmt::Write;
use std::path::Path;

const ORDINALS: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "sixth"];

fn argument(number: &str) -> String {
    let index: usize = number.parse().expect("an argument's number");
    format!("the {} argument", ORDINALS[index])
}

/// `0[2]` in words.
fn memory(of: &str) -> String {
    let (base, length) = of.strip_suffix(']').and_then(|of| of.split_once('[')).expect("N[LEN]");
    let (base, behind) = base.split_once('.').unwrap_or((base, ""));
    let base = match base.strip_prefix('*') {
        Some(pointer) => match pointer.split_once('+') {
            Some((number, at)) => format!("the pointer {at} bytes behind {}", argument(number)),
            None => format!("the pointer that {} points to", argument(pointer)),
        },
        None => argument(base),
    };
    let base = match behind {
        "" => base,
        behind => format!("{behind} bytes behind {base}"),
    };
    if let Some((count, size)) = length.split_once('#') {
        return match count.strip_suffix('*') {
            Some(count) => format!("{} times {size} bytes at {base}", argument(count)),
            None => format!("{size} bytes at {base}"),
        };
    }
    if let Some(of) = length.strip_prefix("until") {
        let numbers: Vec<String> = of.split(',').map(argument).collect();
        return format!(
            "the bytes at {base} up to the first in {} that is equal to {}, at most as many as {} says",
            numbers[0], numbers[1], numbers[2]
        );
    }
    if let Some(of) = length.strip_prefix("printed") {
        let format = of.strip_suffix("-list").unwrap_or(of);
        return format!("at {base} the text that the format in {} makes", argument(format));
    }
    for (kind, what) in [("+s", "string"), ("+w", "wide string")] {
        let Some(of) = length.strip_prefix(kind) else { continue };
        let (text, most) = of.split_once(',').map_or((of, None), |(text, most)| (text, Some(most)));
        let most = most
            .map_or_else(String::new, |most| format!(", up to the length in {}", argument(most)));
        return format!(
            "behind the {what} at {base}, as many bytes as the {what} at {} has{most}",
            argument(text)
        );
    }
    if length == "segment" {
        return format!("the segment that is attached at {base}");
    }
    if length == "block" {
        return format!("the heap block of {base}");
    }
    if let Some((count, size)) = length.strip_prefix('*').and_then(|of| of.split_once('*')) {
        let (size, more) = size.split_once('+').unwrap_or((size, "0"));
        let more = if more == "0" { "" } else { " and one more" };
        return format!(
            "as many elements at {base} as the word says at {}{more}, of the size in {}",
            argument(count),
            argument(size)
        );
    }
    if let Some((number, more)) = length.split_once('+') {
        return format!("as many bytes at {base} as {} says and {more} more", argument(number));
    }
    for (mark, case) in [('~', ""), ('^', ", whatever the case")] {
        let Some((bound, other)) = length.strip_prefix('s').and_then(|of| of.split_once(mark))
        else {
            continue;
        };
        let bound = match bound {
            "" => String::new(),
            bound => format!(", up to the length in {}", argument(bound)),
        };
        return format!(
            "the string at {base} up to where it differs from that at {}{case}{bound}",
            argument(other)
        );
    }
    for (kind, what) in [('s', "string"), ('w', "wide string")] {
        let Some(bound) = length.strip_prefix(kind) else { continue };
        return match bound.strip_prefix('@') {
            Some(other) => {
                format!("as many bytes at {base} as the {what} at {} has", argument(other))
            }
            None if bound.is_empty() => format!("the {what} at {base}"),
            None => format!("the {what} at {base}, up to the length in {}", argument(bound)),
        };
    }
    match length {
        "options" => return format!("the options in the array at {base}, and their names"),
        "flags" => return format!("the numbers to which the options in the array at {base} lead"),
        "texts" => return format!("the strings of the array at {base}, up to a null pointer"),
        _ => {}
    }
    if let Some(count) = length.strip_prefix("texts") {
        return format!("the strings of the array at {base}, as many as {} says", argument(count));
    }
    if let Some(count) = length.strip_prefix('v') {
        return format!("the buffers of {base}, as many as {} says", argument(count));
    }
    if let Some(count) = length.strip_prefix('m') {
        return match count {
            "" => format!("the buffers of the message at {base}"),
            count => format!(
                "the buffers of the messages at {base}, as many as {} says",
                argument(count)
            ),
        };
    }
    if let Some(pointer) = length.strip_prefix('i') {
        return format!("as many bytes at {base} as the int says at {}", argument(pointer));
    }
    if let Some(pointer) = length.strip_prefix('*') {
        return format!("as many bytes at {base} as the word says at {}", argument(pointer));
    }
    match length.split_once('*') {
        Some((one, other)) => {
            format!("{} times {} bytes at {base}", argument(one), argument(other))
        }
        None => format!("as many bytes at {base} as {} says", argument(length)),
    }
}

fn effect(effect: &str) -> String {
    if let Some((effect, condition)) = effect.split_once('?') {
        let condition = match condition.split_once('=') {
            Some((number, "0")) => format!("{} is 0 or null", argument(number)),
            Some((number, value)) => format!("{} is {value}", argument(number)),
            None if condition.contains('^') => {
                let (number, letter) = condition.split_once('^').expect("?N^LETTER");
                format!("{} begins with `{letter}`", argument(number))
            }
            None if condition.contains('%') => {
                let (number, conversion) = condition.split_once('%').expect("?N%CONVERSION");
                format!("{} has the conversion `%{conversion}`", argument(number))
            }
            None if condition.contains('+') => {
                let (number, offset) = condition.split_once('+').expect("?N+M");
                format!("the word {offset} bytes behind {} is not 0", argument(number))
            }
            None if condition.contains('!') => {
                let (number, range) = condition.split_once('!').expect("?N!LOW-HIGH");
                let range = match range.split_once('-') {
                    Some((low, high)) if low == high => low.to_owned(),
                    _ => range.replace('-', " to "),
                };
                format!("{} is not {range}", argument(number))
            }
            None => {
                let (number, bits) = condition.split_once('&').expect("?N=V or ?N&B");
                format!("{} has a bit of {bits}", argument(number))
            }
        };
        return format!("{} if {condition}", unconditional(effect));
    }
    unconditional(effect)
}

fn unconditional(effect: &str) -> String {
    let access = |kind: &str| match kind {
        "r" => "reads",
        "w" => "writes",
        _ => "reads and writes",
    };
    match effect.split_once(':') {
        None => match effect {
            "pure" => "no effect on what other tasks can observe".into(),
            "stream" => "locks a stream".into(),
            "unlocked" => "uses a stream without its lock".into(),
            "number" => "has the number of a descriptor for a moment".into(),
            "heap" => "allocates or frees memory of the heap".into(),
            "partial" => {
                "**more than is known here**: a call takes the claim of completeness away".into()
            }
            "lasting" => "**later calls access memory that it was given or gave**: a call takes the claim of \
                          completeness away, also before there are threads"
                .into(),
            other => panic!("unknown effect {other}"),
        },
        Some(("state", of)) => {
            let (name, kind) = of.rsplit_once(':').expect("state:NAME:KIND");
            format!("{} the library's or the process's `{name}`", access(kind))
        }
        Some(("var", of)) => {
            let (name, kind) = of.rsplit_once(':').expect("var:NAME:KIND");
            format!("{} `{name}`, where the program uses that variable itself", access(kind))
        }
        Some(("format", of)) => {
            format!("reads and writes what the arguments after the format lead to ({})", argument(of))
        }
        Some(("format-list", of)) => {
            format!(
                "reads and writes what the `va_list` after the format leads to ({})",
                argument(of)
            )
        }
        Some(("lasting", of)) => {
            format!(
                "**later calls access the memory of {}** unless it is null: a call takes the claim of \
                 completeness away, also before there are threads",
                argument(of)
            )
        }
        Some(("lasting-file", of)) => {
            format!(
                "**later calls access the memory of the file** of {}, if that is a regular file: a call takes the \
                 claim of completeness away, also before there are threads",
                argument(of)
            )
        }
        Some(("fd", of)) => {
            let (number, kind) = of.rsplit_once(':').expect("fd:N:KIND");
            let files = match number {
                "all" => "open files".into(),
                number => format!("the open file of {}", argument(number)),
            };
            format!("{} {files}", access(kind))
        }
        Some(("takes", of)) => {
            let (number, len) = of.strip_suffix(']').and_then(|of| of.split_once('[')).expect("N[M]");
            let file = argument(number);
            match len.strip_prefix('v') {
                Some(_) => format!("reads at most as many bytes as the buffers hold from the open file of {file}"),
                None => {
                    let len = argument(len);
                    format!("reads at most as many bytes as {len} says from the open file of {file}")
                }
            }
        }
        Some(("gives", number)) => format!("writes to the open file of {}", argument(number)),
        Some(("closes", number)) => {
            format!("closes the descriptor in {}", argument(number))
        }
        Some(("key", of)) => {
            let (number, kind) = of.rsplit_once(':').expect("key:N:KIND");
            let act = if kind == "r" { "uses" } else { "ends" };
            format!("{act} the key in {}, in a program that deletes keys", argument(number))
        }
        Some(("slot", of)) => {
            let (number, kind) = of.rsplit_once(':').expect("slot:N:KIND");
            format!("{} the descriptor in {} and its duplicates", access(kind), argument(number))
        }
        Some(("self", kind)) => format!("{} the calling thread's name", access(kind)),
        Some(("file", of)) => {
            let (stream, kind) = of.rsplit_once(':').expect("file:N:KIND");
            let stream = match stream {
                "in" => "standard input".into(),
                "out" => "standard output".into(),
                "err" => "standard error".into(),
                "all" => return format!("{} all streams and their open files", access(kind)),
                number => format!("the stream of {}", argument(number)),
            };
            format!("{} {stream} and its open file", access(kind))
        }
        Some(("path", of)) => {
            let (number, kind) = of.rsplit_once(':').expect("path:N:KIND");
            format!("{} the open file with the path of {}", access(kind), argument(number))
        }
        Some(("ends", of)) => {
            let (number, kind) = of.rsplit_once(':').expect("ends:N:KIND");
            format!("{} the pipe with the path of {}", access(kind), argument(number))
        }
        Some(("continued", kind)) => {
            format!("{} the string where the last call ended", access(kind))
        }
        Some((kind, of)) if kind.starts_with("scan") => {
            format!("writes what the arguments after the format lead to ({})", argument(of))
        }
        Some((kind, of)) => format!("{} {}", access(kind), memory(of)),
    }
}

/// The page, from the text of the catalogue.
pub(crate) fn markdown(root: &Path) -> String {
    let path = root.join("probes/src/instrument/binary/libc.txt");
    let table = std::fs::read_to_string(&path).expect("the catalogue is there");
    let mut page = String::from(
        "# Library functions\n\nWhat functions of the C library do to memory and to state that tasks \
         share, as a search sees it. Functions of the threads library, of the heap and of signals are \
         modelled by the runtime. A call of a function that is in neither is named in the report, and \
         the search is not complete.\n",
    );
    // Functions in a row that do the same share a line.
    let mut group: (Vec<&str>, &str) = (Vec::new(), "");
    let flush = |page: &mut String, (names, effects): &mut (Vec<&str>, &str)| {
        if !names.is_empty() {
            let names: Vec<String> = names.drain(..).map(|name| format!("`{name}`")).collect();
            let effects: Vec<String> = effects.split_ascii_whitespace().map(effect).collect();
            let _ = writeln!(page, "* {}: {}", names.join(", "), effects.join("; "));
        }
    };
    // The first comment describes the format.
    for line in table.lines().skip_while(|line| line.starts_with('#')) {
        if let Some(title) = line.strip_prefix("# ") {
            flush(&mut page, &mut group);
            let _ = write!(page, "\n## {title}\n\n");
        } else if let Some((name, effects)) = line.split_once(' ') {
            if effects.trim() != group.1 {
                flush(&mut page, &mut group);
            }
            group.0.push(name);
            group.1 = effects.trim();
        }
    }
    flush(&mut page, &mut group);
    page
}
