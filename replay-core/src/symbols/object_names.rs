//! Names of objects. They contain nothing that differs between executions.

use super::Symbols;
use super::names::{is_library, with_offset};
use std::fmt::Write;
use traces::ObjectLocation;
use traces::clients::action_name;

impl Symbols {
    /// The name of an object at a location: `lock`, `queue.head`, `queue+0x18`, `heap block #3 (64
    /// bytes, queue.c:12)+0x8`, `T2's stack -0x40`. Never empty.
    #[must_use]
    pub fn object_name(&self, place: &ObjectLocation) -> String {
        match *place {
            ObjectLocation::Task(task) => task.to_string(),
            ObjectLocation::Descriptor(number) => {
                let action = u64::try_from(number).ok().and_then(action_name);
                action.unwrap_or_else(|| format!("descriptor {number}"))
            }
            ObjectLocation::Static(site) => match self.variable(site) {
                Some(name) => name,
                None => {
                    let module = self.map().modules().get(usize::from(site.module));
                    let path = module.map(|loaded| &*loaded.module.path).unwrap_or_default();
                    let file = path.rsplit('/').next().filter(|file| !file.is_empty());
                    // The runtime's words have no names; each stands for state that has no address in the program.
                    if file.is_some_and(|file| file.starts_with("heddle-runtime-")) {
                        return with_offset("hidden state".to_owned(), site.offset);
                    }
                    with_offset(file.unwrap_or("static memory").to_owned(), site.offset)
                }
            },
            ObjectLocation::Heap { ordinal, offset, size, site } => {
                let mut name = format!("heap block #{ordinal} ({size} bytes");
                if let Some(frame) = site.and_then(|site| self.allocation(site)) {
                    let _ = write!(name, ", {}", frame.place());
                }
                name.push(')');
                with_offset(name, offset)
            }
            ObjectLocation::Stack { task, below } => format!("{task}'s stack -0x{below:x}"),
            ObjectLocation::Other(number) => format!("mapped memory #{number}"),
        }
    }

    /// The frame that describes an allocation best: the innermost one outside of the language's
    /// library, from which `new` and `Box` are inlined.
    fn allocation(&self, site: traces::Site) -> Option<traces::Frame> {
        let frames = self.frames(site, false);
        let own = frames.iter().find(|frame| !is_library(&frame.file));
        own.or(frames.first()).cloned()
    }
}
