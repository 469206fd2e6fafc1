//! Every thing that `targets/beyond.c` does: done as the system does it, or named before any harm is.

use tests::heddle::Home;
use tests::targets::program;
use traces::FailureKind::{self, Livelock, SelfDeadlock, Spin, Unsupported};
use traces::report::Verdict;

/// What it does, and how that fails; the text is the beginning of the failure's message.
const THINGS: &[(&str, Option<(FailureKind, &str)>)] = &[
    ("longjmp_from_handler", None),
    ("contexts", None),
    ("longjmp_between_stacks", None),
    (
        "longjmp_into_thread",
        Some((Unsupported, "not supported yet: longjmp to the stack of another thread")),
    ),
    ("contexts_move", None),
    ("dlopen_and_dlclose", None),
    ("dlopen_by_all", None),
    ("load_into_namespace", None),
    ("by_vfork", Some((Unsupported, "not supported yet: vfork"))),
    ("by_fork_call", Some((Unsupported, "not supported yet: fork"))),
    ("by_clone", Some((Unsupported, "not supported yet: clone"))),
    ("by_clone3", Some((Unsupported, "not supported yet: clone3"))),
    ("clone_thread", Some((Unsupported, "not supported yet: clone"))),
    ("vfork_call", Some((Unsupported, "not supported yet: vfork"))),
    ("by_execve", Some((Unsupported, "not supported yet: execve"))),
    ("leave_namespace", Some((Unsupported, "not supported yet: unshare"))),
    ("raw_exit", Some((Unsupported, "not supported yet: the exit system call of one thread"))),
    ("by_system", Some((Unsupported, "not supported yet: system"))),
    ("by_popen", Some((Unsupported, "not supported yet: popen"))),
    ("by_posix_spawn", Some((Unsupported, "not supported yet: posix_spawnp"))),
    ("enter_namespace", Some((Unsupported, "not supported yet: setns"))),
    ("strict_seccomp", Some((Unsupported, "not supported yet: seccomp"))),
    ("prctl_seccomp", Some((Unsupported, "not supported yet: prctl(PR_SET_SECCOMP)"))),
    ("trace_me", Some((Unsupported, "not supported yet: ptrace"))),
    ("handler_locks", Some((SelfDeadlock, "T1 waits for m, which it holds itself"))),
    ("handler_waits", None),
    ("never_yields", Some((Spin, "T1 runs without end"))),
    ("only_yields", Some((Livelock, "T1 goes round in a loop"))),
    ("computes_long", None),
    ("by_alarm", None),
    ("by_setitimer", None),
    ("by_timer", None),
    (
        "by_processor_time",
        Some((Unsupported, "not supported yet: setitimer by a processor's time")),
    ),
    ("by_timerfd", None),
    ("timerfd_twice", Some((Unsupported, "not supported yet: a second descriptor for a timer"))),
    ("by_signalfd", Some((Unsupported, "not supported yet: signalfd"))),
];

#[test]
fn what_few_programs_do_is_done_or_named() {
    let home = Home::new();
    let path = program("beyond").build().expect("targets compile").to_string_lossy().into_owned();
    let mut wrong = Vec::new();
    for (thing, fails) in THINGS {
        let mut args = vec!["explore", "--json", "--points", "api", "--max-executions", "20"];
        args.extend(["--", &path, thing]);
        let report = home.heddle(args).report();
        let right = match (fails, report.bugs.first()) {
            (None, None) => matches!(report.verdict, Verdict::Clean | Verdict::Incomplete),
            (Some((kind, says)), Some(bug)) => {
                bug.kind == *kind
                    && bug.message.starts_with(says)
                    && bug.site.starts_with("beyond.c:")
            }
            _ => false,
        };
        if !right {
            wrong.push(format!("{thing}: {report:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_thing_that_the_program_does() {
    let path = program("beyond").build().expect("targets compile");
    let listed = std::process::Command::new(path).output().expect("it runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let table: Vec<&str> = THINGS.iter().map(|(thing, _)| *thing).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), table);
}

/// Natively no two runs print the same.
#[test]
fn random_numbers_are_the_same_in_every_process() {
    let home = Home::new();
    let path = program("random_bytes").build().expect("targets compile");
    let run = || home.heddle(["run", "--", &path.to_string_lossy()]).stdout;
    let first = run();
    assert!(first.contains("AT_RANDOM") && first.contains("/tmp/heddle-"), "{first}");
    assert_eq!(first, run());
}
