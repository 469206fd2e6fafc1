//! The result of one check.

/// The severity of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Everything works.
    Good,
    /// Heddle works, but something is slower or missing.
    Warning,
    /// Heddle does not work.
    Bad,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was checked, in a few words.
    pub name: &'static str,
    /// The severity.
    pub state: State,
    /// What was found.
    pub found: String,
    /// The consequence and what to do; empty if all is good.
    pub advice: String,
}

impl Check {
    pub(super) fn good(name: &'static str, found: impl Into<String>) -> Check {
        Check { name, state: State::Good, found: found.into(), advice: String::new() }
    }

    pub(super) fn warning(
        name: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Check {
        Check { name, state: State::Warning, found: found.into(), advice: advice.into() }
    }

    pub(super) fn bad(
        name: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Check {
        Check { name, state: State::Bad, found: found.into(), advice: advice.into() }
    }
}
