//! Concurrent predicates: which tasks must be where at once, and what must hold there.
//!
//! The controller parses and compiles them; the runtime evaluates them. The idea is that of
//! Gottschlich, Pokam and Pereira, "Concurrent Predicates: A Debugging Technique for Every Parallel
//! Programmer" (2013).

use serde::{Deserialize, Serialize};

/// The most roles of a predicate.
pub const MOST_ROLES: usize = 64;
/// The most predicates of a search.
pub const MOST: usize = 64;
/// The most predicates with the purpose [`Purpose::Note`] of a search.
pub const MOST_NOTED: usize = 512;
/// The most sites of predicates that count executions, and the most tasks that can be at them.
pub const MOST_PLACES: usize = 64;
/// The most bytes of a predicate's text.
pub const LONGEST: usize = 4096;

/// Numbers of registers in the code of a [`Slot`]: 0 to 16 are those of DWARF.
pub mod register {
    /// The thread pointer.
    pub const THREAD_POINTER: u16 = 58;
    /// The number of the task.
    pub const TASK: u16 = 100;
}

/// An address in a module's file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CodeAddress {
    /// The path of the file; empty for the program itself.
    pub module: String,
    /// The address in it.
    pub offset: u64,
}

/// Code, relative to another address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CodeRange {
    /// The distance of its start from that address.
    pub distance: i64,
    /// The number of bytes.
    pub len: u64,
}

/// Part of a line's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LineCode {
    /// Where it is.
    pub range: CodeRange,
    /// If it is that of a library function that was inlined: the number of the call, which is one operation of
    /// the line. Otherwise 0, and each instruction is an operation, a call of a library function one, too.
    pub call: u32,
}

/// Which operations a line executes. Distances are from the line's first instruction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extent {
    /// The line's instructions without calls of the program's own functions. Empty if each step is an
    /// operation.
    pub code: Vec<LineCode>,
    /// The function that contains them.
    pub function: CodeRange,
}

/// Which tasks can take a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThreadMatch {
    /// Any task.
    Any,
    /// The task with this number.
    Number(u16),
    /// A task with this name, or one that began in one of these functions.
    Named {
        /// The name.
        name: String,
        /// The entries of the functions.
        functions: Vec<CodeAddress>,
    },
}

/// One part of a predicate: a task at a site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// The part as the user wrote it.
    pub text: String,
    /// Which tasks can take it.
    pub thread: ThreadMatch,
    /// The instructions of the site: a task is at the site when it is about to execute one of them.
    pub places: Vec<CodeAddress>,
    /// The parts of the condition that only this role's task and static variables decide. While one
    /// is false, there is no reason to hold the task.
    pub own: Vec<Vec<u8>>,
    /// Whether a task is at the site only when an instruction that reads and writes has read, and is about
    /// to write (`file:line/write`).
    #[serde(default)]
    pub before_write: bool,
    /// For each of the places, or for none, the operations of its line: a task that arrived there counts as
    /// being there until it has executed one, if the predicate counts executions.
    #[serde(default)]
    pub extents: Vec<Extent>,
}

impl Role {
    /// Whether its extents fit in memory, and in the address space.
    fn is_bounded(&self) -> bool {
        const MOST_RANGES: usize = 1 << 12;
        const FARTHEST: u64 = 1 << 40;
        let fits =
            |code: &CodeRange| code.distance.unsigned_abs() <= FARTHEST && code.len <= FARTHEST;
        self.extents.len() <= self.places.len()
            && self.extents.iter().all(|extent| {
                let code = &extent.code;
                code.len() <= MOST_RANGES
                    && code.iter().all(|part| fits(&part.range))
                    && fits(&extent.function)
            })
    }
}

/// A value that the condition reads as a register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Slot {
    /// The load address of a module: the path of its file, empty for the program.
    Base(String),
    /// A value in terms of a task's registers.
    Local {
        /// The role whose task it belongs to.
        role: u16,
        /// For each of the role's places the code that computes it.
        code: Vec<Vec<u8>>,
    },
}

/// What a predicate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The search looks for a state in which it holds (`--when`).
    #[default]
    Satisfy,
    /// A state in which its condition is false is a failure (`--always`).
    Always,
    /// A state in which it holds is a failure (`--never`).
    Never,
    /// The search leads executions to a state in which it holds, and continues them (`--through`). A task
    /// is at a site from its arrival until it executes its next operation. An execution counts as led
    /// there if the task of the first role executes the next operation, is blocked, or fails.
    Through,
    /// Executions are counted by whether they reach a state in which it holds, in the same sense, and are
    /// led nowhere: its sites add no steps.
    Note,
    /// Tasks execute the same steps at its sites as for `Satisfy`, so that the schedule that a search found
    /// can be repeated and continues behind the state in which it holds.
    Visit,
    /// The search begins where a task first reaches its site (`--begin-at`), which adds no steps after that.
    Start,
}

impl Purpose {
    /// Whether the purpose is that the search looks for it.
    #[must_use]
    pub fn is_satisfy(self) -> bool {
        self == Purpose::Satisfy
    }

    /// Whether executions are counted by whether they reach it.
    #[must_use]
    pub fn counts(self) -> bool {
        matches!(self, Purpose::Through | Purpose::Note)
    }
}

/// One predicate. All code is in the form of [`crate::agent_expression`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predicate {
    /// The predicate as the user wrote it.
    pub text: String,
    /// Its roles, which distinct tasks take.
    pub roles: Vec<Role>,
    /// What the condition reads as registers, by number.
    pub slots: Vec<Slot>,
    /// The condition; empty if there is none.
    pub condition: Vec<u8>,
    /// The parts of the condition that read static variables only. While they hold, a search prefers
    /// the tasks that can take a role.
    pub shared: Vec<Vec<u8>>,
    /// What it is for.
    #[serde(default)]
    pub purpose: Purpose,
    /// A failure's condition is no longer watched from the state on in which this code is true; empty
    /// if it is watched to the end.
    #[serde(default)]
    pub until: Vec<u8>,
}

impl Predicate {
    /// Whether the order of two writes to what it reads matters even if no task arrives at a site
    /// between them: it is watched in every state, or remembers a state.
    #[must_use]
    pub fn watches_every_state(&self) -> bool {
        self.roles.is_empty() || !self.until.is_empty()
    }

    /// Whether its parts fit together, so that the runtime can use its indices. Traces may be crafted.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        const MOST_ADDRESSES: usize = 1 << 12;
        const MOST_SLOTS: usize = 1 << 12;
        let roles = &self.roles;
        let fits = |slot: &Slot| match slot {
            Slot::Base(_) => true,
            Slot::Local { role, code } => {
                roles.get(usize::from(*role)).is_some_and(|role| code.len() == role.places.len())
            }
        };
        roles.len() <= MOST_ROLES
            && !(roles.is_empty() && (self.purpose.is_satisfy() || self.purpose.counts()))
            && roles.iter().all(|role| role.places.len() <= MOST_ADDRESSES && role.is_bounded())
            && self.slots.len() <= MOST_SLOTS
            && self.slots.iter().all(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_sound_predicate_fit_together() {
        let role = Role {
            text: "*@f".into(),
            thread: ThreadMatch::Any,
            places: vec![CodeAddress::default()],
            own: Vec::new(),
            before_write: false,
            extents: Vec::new(),
        };
        let slot = |role, codes| Slot::Local { role, code: vec![Vec::new(); codes] };
        let with = |roles: usize, slots: Vec<Slot>| Predicate {
            text: String::new(),
            roles: vec![role.clone(); roles],
            slots,
            condition: Vec::new(),
            shared: Vec::new(),
            purpose: Purpose::Satisfy,
            until: Vec::new(),
        };
        assert!(with(1, vec![slot(0, 1), Slot::Base(String::new())]).is_sound());
        assert!(with(MOST_ROLES, Vec::new()).is_sound());
        for wrong in [
            with(0, Vec::new()),
            with(MOST_ROLES + 1, Vec::new()),
            with(1, vec![slot(1, 1)]),
            with(1, vec![slot(0, 2)]),
        ] {
            assert!(!wrong.is_sound(), "{wrong:?}");
        }
        let watched = Predicate { purpose: Purpose::Always, ..with(0, Vec::new()) };
        assert!(watched.is_sound() && watched.watches_every_state());
    }
}
