//! Properties that hold on any machine that runs these tests.

use super::*;

#[test]
fn every_check_has_a_result() {
    let checks = examine();
    let names: std::collections::BTreeSet<_> = checks.iter().map(|check| check.name).collect();
    assert_eq!(names.len(), checks.len());
    for check in &checks {
        assert!(!check.found.is_empty(), "{check:?}");
        assert_eq!(check.advice.is_empty(), check.state == State::Good, "{check:?}");
        for text in [&check.found, &check.advice] {
            assert!(!text.contains('\n'), "{check:?}");
        }
    }
}

#[test]
fn the_machine_of_the_tests_passes() {
    for check in examine() {
        if ["architecture", "/proc", "shared memory", "heap's place"].contains(&check.name) {
            assert_eq!(check.state, State::Good, "{check:?}");
        }
    }
}

#[test]
fn versions() {
    for (text, expected) in [
        ("2.36", Some((2, 36))),
        ("6.18.44-fc", Some((6, 18))),
        ("13.1-3)", Some((13, 1))),
        ("(Debian", None),
        ("6", None),
        ("", None),
    ] {
        assert_eq!(machine::version(text), expected, "{text}");
    }
}

#[test]
fn versions_of_glibc() {
    for (found, state) in [
        ("2.34", State::Bad),
        ("2.35", State::Good),
        ("2.41", State::Good),
        ("2.42", State::Warning),
        ("3.0", State::Warning),
        ("odd", State::Bad),
    ] {
        assert_eq!(machine::of_glibc(found).state, state, "{found}");
    }
}

#[test]
fn children_end_as_they_should() {
    use child::End;
    assert_eq!(child::run(|| 0).unwrap(), End::Exited(0));
    assert_eq!(child::run(|| 7).unwrap(), End::Exited(7));
    // SAFETY: the child kills itself.
    let killed = child::run(|| unsafe { libc::kill(libc::getpid(), libc::SIGKILL) });
    assert_eq!(killed.unwrap(), End::Killed(libc::SIGKILL));
}
