//! Every case of `targets/beyond.c`: it behaves as without Heddle, or Heddle reports it as
//! unsupported before it does harm.

use tests::heddle::Home;
use tests::targets::program;
use traces::FailureKind::{self, Livelock, SelfDeadlock, Spin, Unsupported};
use traces::report::Verdict;

/// The argument, and the expected failure; the text is a prefix of the failure's message.
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
    ("by_vfork", None),
    ("by_fork_call", None),
    ("by_clone", None),
    ("by_clone3", None),
    ("clone_thread", Some((Unsupported, "not supported yet: clone"))),
    ("vfork_call", None),
    ("by_execve", None),
    ("leave_namespace", Some((Unsupported, "not supported yet: unshare"))),
    ("raw_exit", Some((Unsupported, "not supported yet: the exit system call of one thread"))),
    (
        "user_of_one_thread",
        Some((Unsupported, "not supported yet: a user or groups of one thread only (by syscall)")),
    ),
    (
        "file_user_of_one_thread",
        Some((
            Unsupported,
            "not supported yet: a user or group of one thread only (by setfsuid or setfsgid)",
        )),
    ),
    (
        "rights_of_one_thread",
        Some((Unsupported, "not supported yet: rights of one thread only (by prctl)")),
    ),
    (
        "personality_of_one_thread",
        Some((Unsupported, "not supported yet: a personality of one thread only (by personality)")),
    ),
    (
        "capabilities_of_one_thread",
        Some((Unsupported, "not supported yet: rights of one thread only (by capset)")),
    ),
    ("by_system", None),
    ("by_popen", None),
    ("by_posix_spawn", None),
    ("enter_namespace", Some((Unsupported, "not supported yet: setns"))),
    ("strict_seccomp", Some((Unsupported, "not supported yet: seccomp"))),
    ("prctl_seccomp", Some((Unsupported, "not supported yet: prctl(PR_SET_SECCOMP)"))),
    ("trace_me", Some((Unsupported, "not supported yet: ptrace"))),
    ("handler_locks", Some((SelfDeadlock, "T1 waits for m, which it holds itself"))),
    ("handler_waits", None),
    ("never_yields", Some((Spin, "T1 runs without reaching a scheduling point"))),
    ("only_yields", Some((Livelock, "T1 spins in a loop"))),
    ("computes_long", None),
    ("by_alarm", None),
    ("by_setitimer", None),
    ("by_timer", None),
    (
        "by_processor_time",
        Some((Unsupported, "not supported yet: setitimer with a processor-time clock")),
    ),
    ("by_timerfd", None),
    ("timerfd_twice", Some((Unsupported, "not supported yet: a second descriptor for a timer"))),
    ("by_signalfd", None),
    (
        "signalfd_twice",
        Some((Unsupported, "not supported yet: a second descriptor for a signalfd")),
    ),
    ("by_io_uring", Some((Unsupported, "not supported yet: io_uring: make the program use epoll"))),
];

#[test]
fn unusual_calls_behave_as_natively_or_are_reported_as_unsupported() {
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
fn the_table_lists_every_case_of_the_program() {
    let path = program("beyond").build().expect("targets compile");
    let listed = std::process::Command::new(path).output().expect("it runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let table: Vec<&str> = THINGS.iter().map(|(thing, _)| *thing).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), table);
}

/// Without Heddle any two runs print different numbers.
#[test]
fn random_numbers_are_the_same_in_every_process() {
    let home = Home::new();
    let path = program("random_bytes").build().expect("targets compile");
    let run = || home.heddle(["run", "--", &path.to_string_lossy()]).stdout;
    let first = run();
    assert!(first.contains("AT_RANDOM") && first.contains("/tmp/heddle-"), "{first}");
    assert!(first.contains("\nuuid "), "{first}");
    assert_eq!(first, run());
}
