//! What works on this machine, and what to do about what does not.
//!
//! Wherever it can be, a thing is tried, not looked up: containers and security modules refuse
//! what a kernel of that version has. What may harm this process is tried in a child.

mod child;
mod kernel;
mod machine;
mod surroundings;
#[cfg(test)]
mod tests;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// As it should be.
    Good,
    /// Heddle works, but something is slower or missing.
    Warning,
    /// Heddle cannot work so.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was looked at, in a few words.
    pub name: &'static str,
    /// How bad it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What that means and what to do; empty where all is good.
    pub advice: String,
}

impl Check {
    fn good(name: &'static str, found: impl Into<String>) -> Check {
        Check { name, state: State::Good, found: found.into(), advice: String::new() }
    }

    fn warning(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Check {
        Check { name, state: State::Warning, found: found.into(), advice: advice.into() }
    }

    fn bad(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Check {
        Check { name, state: State::Bad, found: found.into(), advice: advice.into() }
    }
}

/// Looks at everything, what is needed most first. Takes well under a second.
#[must_use]
pub fn examine() -> Vec<Check> {
    let mut checks = vec![
        machine::architecture(),
        machine::kernel(),
        machine::glibc(),
        machine::fsgsbase(),
        surroundings::proc(),
        kernel::shared_memory(),
        kernel::heap(),
        kernel::dispatch(),
        kernel::randomisation(),
        kernel::read_memory(),
        kernel::trace(),
        kernel::write_tracking(),
        surroundings::seccomp(),
        surroundings::address_space(),
        surroundings::stack(),
        surroundings::runtime_directory(),
        surroundings::state_directory(),
    ];
    checks.extend(surroundings::tools());
    checks.push(surroundings::terminal());
    checks
}
