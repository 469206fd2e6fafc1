//! OpenMP's runtimes wait passively.
//!
//! A thread of libgomp or libomp that has nothing to do spins for some time before it blocks: hundreds
//! of thousands of steps that no other task observes. With the passive policy it blocks at once, and
//! an execution has a hundredth of the steps. The user's own choice has precedence.

use super::elf_names::needed;
use std::ffi::OsString;

/// The runtimes by the beginning of their file names, each with the variable and the value that make
/// its threads block at once.
const RUNTIMES: [(&[u8], &str, &str); 3] = [
    (b"libgomp.so", "OMP_WAIT_POLICY", "passive"),
    (b"libomp.so", "KMP_BLOCKTIME", "0"),
    (b"libiomp5.so", "KMP_BLOCKTIME", "0"),
];
/// The variables by which the user chooses how threads wait.
const CHOICES: [&str; 4] = ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"];

/// The variable to add to the environment `env` of a program with this
/// content, if it is linked to such a runtime and the
/// user did not choose how its threads wait.
pub(super) fn passive_waiting(
    data: &[u8],
    env: &[(OsString, OsString)],
) -> Option<(OsString, OsString)> {
    if env.iter().any(|(name, _)| CHOICES.iter().any(|choice| name == choice)) {
        return None;
    }
    let needed = needed(data)?;
    let found =
        RUNTIMES.iter().find(|(library, _, _)| needed.iter().any(|it| it.starts_with(library)));
    found.map(|&(_, name, value)| (name.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_openmp_gets_no_variable() {
        let own = std::env::current_exe().expect("a path");
        assert_eq!(passive_waiting(&std::fs::read(own).expect("it can be read"), &[]), None);
    }
}
