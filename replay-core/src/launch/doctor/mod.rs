//! `heddle doctor`: checks whether Heddle works on this machine, and says what to do if not.
//!
//! Features are tried, not looked up, because containers and security modules refuse what the
//! kernel's version promises. A check that could harm this process runs in a child.

mod check;
mod child;
mod environment;
mod kernel;
mod machine;
mod registers;
#[cfg(test)]
mod tests;

pub use check::{Check, State};

/// Runs all checks, the most important first. Takes well under a second.
#[must_use]
pub fn examine() -> Vec<Check> {
    let mut checks = vec![
        machine::architecture(),
        machine::kernel(),
        machine::glibc(),
        machine::fsgsbase(),
        environment::proc(),
        kernel::shared_memory(),
        kernel::heap(),
        kernel::dispatch(),
        kernel::randomisation(),
        kernel::read_memory(),
        kernel::trace(),
        registers::access(),
        kernel::write_tracking(),
        environment::seccomp(),
        environment::address_space(),
        environment::stack(),
        environment::runtime_directory(),
        environment::state_directory(),
        environment::temporary_directory(),
    ];
    checks.extend(environment::tools());
    checks.push(environment::terminal());
    checks
}
