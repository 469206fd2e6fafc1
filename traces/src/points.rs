//! Which accesses to memory are scheduling points, and how that is passed from one process to another.

use serde::{Deserialize, Serialize};

/// Where the scheduler may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Granularity {
    /// At calls into the threads library and its like only.
    Api,
    /// At accesses to memory, too, that were seen to conflict.
    #[default]
    Racy,
    /// At every access to memory that can be seen.
    All,
}

impl Granularity {
    /// As on the command line and in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Granularity::Api => "api",
            Granularity::Racy => "racy",
            Granularity::All => "all",
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Granularity> {
        [Granularity::Api, Granularity::Racy, Granularity::All]
            .into_iter()
            .find(|one| one.name() == name)
    }
}

/// A place in a process, in terms that hold in every process of the same program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Spot {
    /// The how-manieth loaded module it lies in, or one of the constants.
    pub module: u16,
    /// From where the module lies.
    pub offset: u64,
}

impl Spot {
    /// [`Spot::module`] of an address that is the same in every process.
    pub const FIXED: u16 = u16::MAX;
    /// [`Spot::module`] of a place on main's stack: so far below where main's frame begins.
    pub const MAIN_STACK: u16 = u16::MAX - 1;
}

/// What was learned of a program's accesses to memory: an access is a scheduling point where an
/// instruction of `sites` touches a word of `words`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Learned {
    /// Instructions, by the address behind them.
    pub sites: Vec<Spot>,
    /// Eight bytes of memory each.
    pub words: Vec<Spot>,
}

impl Learned {
    /// Whether nothing was learned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty() && self.words.is_empty()
    }
}

/// What learning came to before a search, so that it need not be done again: the next search takes it over
/// if the program's first execution is the same as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lesson {
    /// Stands for what the first execution did, in which code.
    pub first: u64,
    /// All that was seen.
    pub learned: Learned,
    /// Whether a task touched another's stack.
    pub stacks: bool,
    /// How many executions it took.
    pub executions: u64,
    /// What was out of sight: bits of [`Unseen`].
    pub unseen: u64,
    /// In how many executions probes were taken out before they were over.
    pub tired: u64,
    /// How many probes there were at a time, and how many of those were jumps.
    pub probes: (u64, u64),
}

/// Why some of the program's accesses to memory are not looked at, though that was asked for. The value
/// is a bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Unseen {
    /// Nothing says where its functions are.
    Unlisted = 1,
    /// Parts of its code could not be decoded with certainty.
    Undecoded = 2,
    /// Its own shared libraries.
    Libraries = 4,
    /// It made code while it ran.
    Generated = 8,
    /// It changed its own code.
    Changed = 16,
    /// It loaded libraries of its own while it ran.
    Loaded = 32,
    /// It uses more memory than account can be kept of.
    Crowded = 64,
    /// Instructions of kinds that are not looked at.
    Forms = 128,
    /// Some of its modules tell of their accesses, and others do not.
    Mixed = 256,
    /// What a loop does that waits, in memory of its own.
    Counts = 512,
    /// Regions that it marked as not to be interrupted: not out of sight, but not searched.
    Marked = 1 << 32,
}

impl Unseen {
    const ALL: [Unseen; 11] = [
        Unseen::Unlisted,
        Unseen::Undecoded,
        Unseen::Libraries,
        Unseen::Generated,
        Unseen::Changed,
        Unseen::Loaded,
        Unseen::Crowded,
        Unseen::Forms,
        Unseen::Mixed,
        Unseen::Counts,
        Unseen::Marked,
    ];

    /// Those whose bits are set.
    pub fn among(bits: u64) -> impl Iterator<Item = Unseen> {
        Unseen::ALL.into_iter().filter(move |&one| bits & one as u64 != 0)
    }

    /// For people: what is out of sight, and what to do.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Unseen::Unlisted => {
                "the program has no table of its functions (.eh_frame), so its accesses to memory \
                 are not looked at: link it without taking that out, or build it with -fsanitize=thread"
            }
            Unseen::Undecoded => {
                "some of the program's code stands in no table of functions (.eh_frame) or could not be \
                 decoded with certainty, so its accesses to memory are not looked at"
            }
            Unseen::Libraries => {
                "accesses to memory in some of the program's own shared libraries are not looked at: \
                 there are too many of them, or there is no room near their code"
            }
            Unseen::Generated => {
                "the program makes code while it runs, in which accesses to memory are not looked at"
            }
            Unseen::Changed => {
                "the program changes its own code, so its accesses to memory are not looked at from \
                 there on"
            }
            Unseen::Loaded => {
                "the program loads libraries of its own while it runs, in which accesses to memory \
                 are not looked at: link it to them, or set LD_PRELOAD"
            }
            Unseen::Crowded => {
                "the program uses more memory than account can be kept of (64 MB), so not all accesses \
                 to it are looked at"
            }
            Unseen::Forms => {
                "the program has instructions whose accesses to memory are not looked at (gathers, \
                 bit strings)"
            }
            Unseen::Mixed => {
                "some of the program's own modules were built to tell of their accesses to memory and \
                 others were not, which are not looked at: build all of it with `heddle build`, or none"
            }
            Unseen::Counts => {
                "a task that waits in a loop writes to memory of its own meanwhile, as one that counts its \
                 turns: what more turns than a few come to was not tried"
            }
            Unseen::Marked => {
                "the program marks regions as not to be interrupted (heddle_atomic_begin): nothing is \
                 said of schedules that would"
            }
        }
    }
}

/// A part of a program's code, in terms of its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stretch {
    /// The path of the module's file; empty for the program itself.
    pub module: String,
    /// From where to where, as addresses in the file.
    pub start: u64,
    /// The end; not part of it.
    pub end: u64,
}

/// Where a running task may be preempted: not before an operation in `atomic`, and, where `focus` is
/// there, before those in it alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scope {
    /// No preemptions here.
    pub atomic: Vec<Stretch>,
    /// Preemptions here alone.
    pub focus: Option<Vec<Stretch>>,
}

impl Scope {
    /// Whether preemptions are allowed everywhere.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.atomic.is_empty() && self.focus.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for one in [Granularity::Api, Granularity::Racy, Granularity::All] {
            assert_eq!(Granularity::from_name(one.name()), Some(one));
        }
        assert_eq!(Granularity::from_name("some"), None);
    }
}
