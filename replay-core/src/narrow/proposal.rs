//! A proposed cause: threads at sites, and a condition. Plain data.

use crate::control::runner::Reached;
use std::fmt;

/// A thread at a line of the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SiteOfThread {
    /// The thread as a predicate names it: `T1`, or `*` if several run the same function.
    pub thread: String,
    /// The path of the source file.
    pub path: String,
    /// The line.
    pub line: u32,
    /// The line's text if no other line of the file contains it.
    pub text: Option<String>,
    /// Whether it acquires a lock there.
    pub locks: bool,
    /// Whether it is about to execute the line's first write, and has read what the line reads.
    pub write: bool,
    /// The last step of the failing execution that a task executes there.
    pub step: usize,
    /// How much it is a consequence: 1 if no other task executes a step from there on, 2 if it is the line
    /// that fails.
    pub lateness: u8,
}

impl SiteOfThread {
    /// The last component of the path.
    #[must_use]
    pub fn file(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it is the same thread at the same line.
    #[must_use]
    pub fn is(&self, other: &SiteOfThread) -> bool {
        let same_line = (&self.path, self.line) == (&other.path, other.line);
        same_line && self.thread == other.thread && self.write == other.write
    }
}

impl fmt::Display for SiteOfThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => write!(f, "{}@{}:\"{text}\"", self.thread, self.file())?,
            None => write!(f, "{}@{}:{}", self.thread, self.file(), self.line)?,
        }
        f.write_str(if self.write { "/write" } else { "" })
    }
}

/// A predicate that may be the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The threads at sites; the first one executes the next operation in the state.
    pub roles: Vec<SiteOfThread>,
    /// The parts of the condition, all of which hold.
    pub condition: Vec<String>,
}

impl fmt::Display for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, role) in self.roles.iter().enumerate() {
            write!(f, "{}{role}", if at > 0 { " && " } else { "" })?;
        }
        if !self.condition.is_empty() {
            write!(f, ": {}", self.condition.join(" && "))?;
        }
        Ok(())
    }
}

impl Proposal {
    /// The number of parts.
    #[must_use]
    pub fn size(&self) -> usize {
        self.roles.len() + self.condition.len()
    }

    /// The predicate with a further part of the condition.
    #[must_use]
    pub fn and(&self, part: &str) -> Proposal {
        let mut more = self.clone();
        more.condition.push(part.to_owned());
        more
    }

    /// How a local variable of a role is written.
    #[must_use]
    pub fn local(&self, role: usize, name: &str) -> String {
        match self.roles[role].thread.as_str() {
            "*" => format!("${}.{name}", role + 1),
            thread => format!("{thread}.{name}"),
        }
    }

    /// The order in which causes of equal worth are preferred: what is no consequence, small, with a
    /// condition (unless the failure is a deadlock, where threads at locks say it best), and early.
    #[must_use]
    pub fn cost(&self, is_deadlock: bool) -> (u8, usize, bool, usize, usize) {
        let late = self.roles.iter().map(|role| role.lateness).max().unwrap_or(0);
        let step = self.roles.iter().map(|role| role.step).max().unwrap_or(0);
        let is_plain = self.condition.is_empty() != is_deadlock;
        let chance = self.condition.iter().map(|part| chance(part)).sum();
        (late, self.size(), is_plain, chance, step)
    }
}

/// How easily a relation holds by chance: `!=` and `<` between variables say more than a comparison with a
/// number, and that more than that two variables are equal.
fn chance(part: &str) -> usize {
    let is_number = part.rsplit(' ').next().is_some_and(|last| last.parse::<i64>().is_ok());
    if is_number { 1 } else { 2 * usize::from(part.contains(" == ")) }
}

/// How executions ended, with a predicate and without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Those that reached it.
    pub with: Reached,
    /// The others.
    pub without: Reached,
}

impl Counts {
    /// From all executions, and those that reached it.
    #[must_use]
    pub fn of(all: Reached, with: Reached) -> Counts {
        let without = Reached {
            passing: all.passing.saturating_sub(with.passing),
            failing: all.failing.saturating_sub(with.failing),
        };
        Counts { with, without }
    }

    /// Every execution that reached it failed.
    #[must_use]
    pub fn is_sufficient(&self) -> bool {
        self.with.passing == 0 && self.with.failing > 0
    }

    /// No execution failed that did not reach it.
    #[must_use]
    pub fn is_necessary(&self) -> bool {
        self.without.failing == 0 && self.with.failing > 0
    }

    /// Both, and some execution passed without it.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.is_sufficient() && self.is_necessary() && self.without.passing > 0
    }

    /// By how much the predicate changes how often executions fail, from -1 to 1.
    #[must_use]
    pub fn effect(&self) -> f64 {
        let rate = |of: Reached| match of.failing + of.passing {
            0 => 0.0,
            all => of.failing as f64 / all as f64,
        };
        rate(self.with) - rate(self.without)
    }
}
