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
