//! Names of functions and variables, as users know them.

use std::fmt::{self, Write};

/// Longer names are cut; names of nested templates can be arbitrarily long.
const LONGEST: usize = 1024;

/// Collects text up to a limit, against names that expand without bound.
#[derive(Default)]
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

/// A name as in the source: Rust without the hash, C++ without parameters and return type (the line
/// distinguishes overloads), C unchanged.
#[must_use]
pub fn demangle(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let mut text = Limited::default();
        if write!(text, "{rust:#}").is_ok() && !text.0.is_empty() {
            return text.0;
        }
    } else if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
    {
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        let mut text = Limited::default();
        if symbol.structured_demangle(&mut text, &options).is_ok() && !text.0.is_empty() {
            return text.0;
        }
    }
    let end = name.char_indices().map(|(at, _)| at).nth(LONGEST).unwrap_or(name.len());
    name[..end].to_owned()
}

/// A function's name from its symbol, without suffixes that the compiler adds to copies.
#[must_use]
pub(super) fn function(name: &str) -> String {
    demangle(without_suffixes(name))
}

/// A variable's name from its symbol.
#[must_use]
pub(super) fn variable(name: &str) -> String {
    demangle(without_suffixes(name))
}

fn without_suffixes(name: &str) -> &str {
    const ADDED: [&str; 6] = [".isra", ".part", ".constprop", ".cold", ".lto_priv", ".llvm"];
    let cut = ADDED.iter().filter_map(|suffix| {
        let at = name.find(suffix).filter(|&at| at > 0)?;
        let after = name.as_bytes().get(at + suffix.len());
        matches!(after, None | Some(b'.')).then_some(at)
    });
    &name[..cut.min().unwrap_or(name.len())]
}

/// Whether a source file belongs to the language's or the C library, or to a crate that cargo
/// downloaded.
#[must_use]
pub fn is_library(file: &str) -> bool {
    file.starts_with("/rustc/")
        || file.contains("/rustlib/src/rust/library/")
        || file.contains("/registry/src/")
        || file.contains("/git/checkouts/")
        || file.starts_with("/usr/include/")
}

/// Whether a frame belongs to a library by its source file, and without one by the function's name.
#[must_use]
pub fn is_library_frame(frame: &traces::Frame) -> bool {
    let path = frame.function.trim_start_matches(['<', '&']);
    let named = || ["std::", "core::", "alloc::"].iter().any(|start| path.starts_with(start));
    is_library(&frame.file) || (frame.file.is_empty() && named())
}

/// Whether a frame is in user code, judged by module path and source path.
#[must_use]
pub fn is_user_frame(frame: &traces::Frame) -> bool {
    let library = is_system_library(&frame.module);
    // Rust's compiler makes `__rust_try`, which has no source.
    let generated = frame.function.starts_with("__rust_");
    !frame.function.is_empty() && !library && !generated && !is_library_frame(frame)
}

/// Whether a module, by its path, is one of the system's libraries.
pub(super) fn is_system_library(path: &str) -> bool {
    path.starts_with("/lib") || path.starts_with("/usr/lib")
}

/// A name with an offset, as in `queue+0x18`.
pub(super) fn with_offset(mut name: String, offset: u64) -> String {
    if offset > 0 {
        let _ = write!(name, "+0x{offset:x}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_demangled_in_every_language() {
        let cases = [
            ("main", "main"),
            ("_ZN4demo5queue4push17h0123456789abcdefE", "demo::queue::push"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_ZN5QueueIiE4pushERKi", "Queue<int>::push"),
            ("_ZZ4mainE7counter", "main::counter"),
            ("_Znot_a_name", "_Znot_a_name"),
            ("", ""),
        ];
        for (mangled, plain) in cases {
            assert_eq!(demangle(mangled), plain, "{mangled}");
        }
    }

    #[test]
    fn suffixes_of_the_compiler_are_removed() {
        assert_eq!(function("worker.constprop.0.isra.1"), "worker");
        assert_eq!(function("worker.partial"), "worker.partial");
        assert_eq!(function("_ZN5QueueIiE4pushERKi.cold"), "Queue<int>::push");
        assert_eq!(variable("counter.0"), "counter.0");
    }

    #[test]
    fn the_length_of_names_is_limited() {
        let long = "x".repeat(100_000);
        assert_eq!(demangle(&long).len(), LONGEST);
        // Each substitution doubles the text.
        let mut bomb = String::from("_Z1f1AIiE");
        for digit in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".chars() {
            bomb += &format!("1AIS{digit}_S{digit}_E");
        }
        assert!(demangle(&bomb).len() <= LONGEST.max(bomb.len()));
        assert!(demangle(&"_ZN".repeat(10_000)).len() <= 30_000);
    }
}
