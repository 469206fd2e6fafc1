//! Code locations. A trace never contains a raw address: a site is a module and an offset.

use serde::{Deserialize, Serialize};

/// A file that is mapped into the program: its executable or one of its libraries.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Module {
    /// The path, as the program sees it.
    pub path: String,
    /// Its GNU build id in hexadecimal; empty if it has none.
    pub build_id: String,
}

/// A code location: an offset (a virtual address as in the file) in a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    /// An index into [`crate::Execution::modules`].
    pub module: u16,
    /// The address of the instruction as the module's file numbers it.
    pub offset: u64,
}

/// One frame of a backtrace, as text for the user.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Frame {
    /// The demangled name; empty if no symbol is known.
    pub function: String,
    /// The source file; empty if there is no line information.
    pub file: String,
    /// The line, or 0.
    pub line: u32,
    /// The column, or 0.
    pub column: u32,
    /// Whether the compiler inlined this call into the next frame.
    pub inlined: bool,
    /// The code location.
    pub site: Option<Site>,
    /// The module's path, for frames without a symbol.
    pub module: String,
}

impl Frame {
    /// Whether both frames are at the same line of the same function.
    #[must_use]
    pub fn is_at_line_of(&self, other: &Frame) -> bool {
        (&self.function, &self.file, self.line) == (&other.function, &other.file, other.line)
    }

    /// `file.c:12` with the file's last component, or the function, or the module and offset.
    #[must_use]
    pub fn place(&self) -> String {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        if !self.file.is_empty() {
            format!("{}:{}", name(&self.file), self.line)
        } else if !self.function.is_empty() {
            self.function.clone()
        } else {
            let offset = self.site.map_or(0, |site| site.offset);
            format!("{}+0x{offset:x}", name(&self.module))
        }
    }

    /// The function and the place: `push (queue.c:12)`.
    #[must_use]
    pub fn in_words(&self) -> String {
        match (self.function.as_str(), self.place()) {
            ("", place) => place,
            (function, place) => format!("{function} ({place})"),
        }
    }
}
