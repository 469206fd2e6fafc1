//! What a person calls an object. Names hold nothing that differs between executions.

use super::Symbols;
use std::fmt::Write;
use traces::Place;

impl Symbols {
    /// A name for what lies at a place: `lock`, `queue.head`, `queue+0x18`,
    /// `heap block #3 (64 bytes, queue.c:12)+0x8`, `T2's stack -0x40`. Never empty.
    #[must_use]
    pub fn object_name(&self, place: &Place) -> String {
        match *place {
            Place::Task(task) => task.to_string(),
            Place::Descriptor(number) => format!("descriptor {number}"),
            Place::Static(site) => match self.variable(site) {
                Some(name) => name,
                None => {
                    let module = self.map().modules().get(usize::from(site.module));
                    let path = module.map(|loaded| &*loaded.module.path).unwrap_or_default();
                    let file = path.rsplit('/').next().filter(|file| !file.is_empty());
                    at(file.unwrap_or("static memory").to_owned(), site.offset)
                }
            },
            Place::Heap { ordinal, offset, size, site } => {
                let mut name = format!("heap block #{ordinal} ({size} bytes");
                if let Some(frame) = site.and_then(|site| self.allocation(site)) {
                    let _ = write!(name, ", {}", frame.place());
                }
                name.push(')');
                at(name, offset)
            }
            Place::Stack { task, below } => format!("{task}'s stack -0x{below:x}"),
            Place::Other(number) => format!("mapped memory #{number}"),
        }
    }

    /// The frame that says best where a block was allocated: the innermost that is not code of
    /// the language's own library, which `new` and `Box` are inlined from.
    fn allocation(&self, site: traces::Site) -> Option<traces::Frame> {
        let frames = self.frames(site, false);
        let own = frames.iter().find(|frame| !is_library(&frame.file));
        own.or(frames.first()).cloned()
    }
}

/// Whether a source file is the language's own library, or the C library's.
#[must_use]
pub fn is_library(file: &str) -> bool {
    file.starts_with("/rustc/")
        || file.contains("/rustlib/src/rust/library/")
        || file.starts_with("/usr/include/")
}

pub(super) fn at(mut name: String, offset: u64) -> String {
    if offset > 0 {
        let _ = write!(name, "+0x{offset:x}");
    }
    name
}
