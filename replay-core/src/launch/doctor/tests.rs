//! Properties that hold on any machine that runs these tests, and what the checks say about other machines.

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

/// A check as one line.
fn line(check: &Check) -> String {
    let Check { name, state, found, advice } = check;
    let state = match state {
        State::Good => "ok",
        State::Warning => "warn",
        State::Bad => "bad",
    };
    let advice = if advice.is_empty() { String::new() } else { format!(" -> {advice}") };
    format!("{state} {name}: {found}{advice}")
}

/// Compares checks with the lines that they print.
fn print(checks: &[Check], lines: &[&str]) {
    let found: Vec<String> = checks.iter().map(line).collect();
    assert_eq!(found, lines);
}

const REFUSED: std::io::Result<child::End> = Ok(child::End::Exited(libc::EPERM));

#[test]
fn machines_that_are_not_supported() {
    print(
        &[
            machine::of_architecture("x86_64"),
            machine::of_architecture("aarch64"),
            machine::of_kernel(Some("6.1.0-13-amd64")),
            machine::of_kernel(Some("5.10.0")),
            machine::of_kernel(None),
            machine::of_glibc("2.36"),
            machine::of_glibc("2.42"),
            machine::of_glibc("2.31"),
            machine::of_fsgsbase(true),
            machine::of_fsgsbase(false),
        ],
        &[
            "ok architecture: x86-64",
            "bad architecture: aarch64 -> Heddle runs on x86-64 only",
            "ok kernel: Linux 6.1.0-13-amd64",
            "warn kernel: Linux 5.10.0 -> Heddle supports Linux 5.11 and newer",
            "warn kernel: unknown -> see the other checks",
            "ok glibc: 2.36",
            "warn glibc: 2.42 -> Heddle supports glibc 2.35 to 2.41: this version is newer and untested, \
             but may work",
            "bad glibc: 2.31 -> Heddle supports glibc 2.35 to 2.41: use a newer distribution, or a \
             container with one",
            "ok FSGSBASE: usable",
            "bad FSGSBASE: not usable -> switching between fibers needs it: use a processor of 2013 or \
             newer and Linux 5.9 or newer, without nofsgsbase on the kernel's command line",
        ],
    );
}

#[test]
fn kernels_that_refuse_a_feature() {
    use child::End;
    let refused = || Err(std::io::Error::from_raw_os_error(libc::EPERM));
    print(
        &[
            kernel::of_shared_memory(Ok(End::Exited(0))),
            kernel::of_shared_memory(REFUSED),
            kernel::of_heap(Ok(End::Exited(0))),
            kernel::of_heap(Err(std::io::Error::from_raw_os_error(libc::EAGAIN))),
            kernel::of_dispatch(Ok(End::Killed(libc::SIGSYS))),
            kernel::of_dispatch(Ok(End::Exited(0))),
            kernel::of_randomisation(Ok(End::Exited(0))),
            kernel::of_randomisation(Ok(End::Killed(libc::SIGSYS))),
            kernel::of_read_memory(Ok(kernel::SET)),
            kernel::of_read_memory(Ok(0)),
            kernel::of_read_memory(refused().map(|()| 0)),
            kernel::of_trace(Ok(End::Stopped), "1"),
            kernel::of_trace(REFUSED, "3"),
            kernel::of_write_tracking(Ok(()), || Ok(())),
            kernel::of_write_tracking(refused(), || Ok(())),
            kernel::of_write_tracking(Ok(()), refused),
        ],
        &[
            &format!(
                "ok shared memory: memfd_create, mapped at {:#x}",
                traces::wire::CHANNEL_ADDRESS
            ),
            "bad shared memory: refused: Operation not permitted (os error 1) -> Heddle and the program \
             communicate through it: allow memfd_create and mmap, and check the address space limit",
            &format!("ok heap's place: free at {:#x}", traces::wire::ARENA_ADDRESS),
            "bad heap's place: not tried: Resource temporarily unavailable (os error 11) -> the \
             program's heap needs a fixed address: check the address space limit",
            "ok system call dispatch: works",
            "warn system call dispatch: no effect -> system calls made inside the C library are not \
             intercepted, and every execution needs a new process (--reset fork): use Linux 5.11 or \
             newer; some containers and emulators do not support it",
            "ok address randomisation: can be switched off",
            "warn address randomisation: ended by signal 31 -> addresses differ from run to run: \
             programs that depend on them (order in hash tables of pointers) may not replay; in a \
             container, allow personality(ADDR_NO_RANDOMIZE), as --security-opt seccomp=unconfined does",
            "ok reading the program's memory: works",
            "warn reading the program's memory: wrong content -> stacks at a failure cannot be shown: \
             allow process_vm_readv (in a container, --cap-add SYS_PTRACE)",
            "warn reading the program's memory: refused: Operation not permitted (os error 1) -> stacks \
             at a failure cannot be shown: allow process_vm_readv (in a container, --cap-add SYS_PTRACE)",
            "ok tracing (ptrace): works (yama ptrace_scope: 1)",
            "warn tracing (ptrace): refused: Operation not permitted (os error 1) (yama ptrace_scope: 3) \
             -> heddle gdb and breakpoints do not work: set kernel.yama.ptrace_scope to 0 or 1, or in a \
             container allow ptrace (--cap-add SYS_PTRACE)",
            "ok write tracking: PAGEMAP_SCAN and userfaultfd work",
            "warn write tracking: no userfaultfd: Operation not permitted (os error 1) -> memory reset \
             finds changed pages by faults, which is slower: use Linux 6.7 or newer, which has \
             PAGEMAP_SCAN and asynchronous userfaultfd write protection",
            "warn write tracking: no PAGEMAP_SCAN: Operation not permitted (os error 1) -> memory reset \
             finds changed pages by faults, which is slower: use Linux 6.7 or newer, which has \
             PAGEMAP_SCAN and asynchronous userfaultfd write protection",
        ],
    );
}

#[test]
fn processes_whose_registers_cannot_be_accessed() {
    let refused = std::io::Error::from_raw_os_error(libc::EPERM);
    print(
        &[
            registers::of_access(Ok(2440)),
            registers::of_access(Err(("waiting for a single step", refused))),
        ],
        &[
            "ok registers of a process: read and written (vector registers: 2440 bytes), hardware \
             watchpoints and single steps work",
            "warn registers of a process: waiting for a single step: Operation not permitted (os error \
             1) -> heddle gdb, stacks and watched expressions do not work: use a kernel or container \
             that allows it (--cap-add SYS_PTRACE); under an emulator (gVisor, qemu-user) run heddle on \
             the host",
        ],
    );
}

#[test]
fn environments_with_limits_and_without_tools() {
    use environment::*;
    let missing = || std::io::Error::from_raw_os_error(libc::ENOENT);
    let infinite = Some(libc::RLIM_INFINITY);
    let gdb = |printed| of_tool("gdb", "heddle gdb needs it", (12, 0), printed);
    let state = std::path::Path::new("/home/me/state");
    print(
        &[
            of_proc(Ok("7ffc-7ffd rw-p [stack]".to_owned())),
            of_proc(Ok(String::new())),
            of_proc(Err(missing())),
            of_seccomp("Name:\theddle\nSeccomp:\t0\n"),
            of_seccomp("Seccomp:\t2\n"),
            of_seccomp("Seccomp:\t1\n"),
            of_seccomp(""),
            of_address_space(infinite),
            of_address_space(Some(4 << 30)),
            of_address_space(None),
            of_stack(infinite),
            of_stack(Some(256 << 10)),
            of_stack(Some(8 << 20)),
            of_stack(None),
            of_state_directory(Some(state), None::<String>),
            of_state_directory(Some(state), Some(missing())),
            of_state_directory(None, None::<String>),
            gdb(Some("GNU gdb (Debian 13.1-3) 13.1\n")),
            gdb(Some("GNU gdb 7.2\n")),
            gdb(Some("wrapper\n")),
            gdb(None),
            of_terminal(true, "xterm", (80, 24)),
            of_terminal(true, "xterm", (79, 24)),
            of_terminal(true, "dumb", (80, 24)),
            of_terminal(false, "xterm", (80, 24)),
        ],
        &[
            "ok /proc: mounted",
            "bad /proc: present, but it is not the kernel's proc file system -> mount -t proc proc /proc",
            "bad /proc: No such file or directory (os error 2) -> mount -t proc proc /proc",
            "ok seccomp: off",
            "ok seccomp: a filter of system calls (seccomp) is active, as in containers",
            "warn seccomp: mode 1 -> see the other checks",
            "warn seccomp: mode unknown -> see the other checks",
            "ok address space limit: none",
            "warn address space limit: 4096 MiB -> mappings may fail although the program runs without \
             Heddle: ulimit -v unlimited",
            "warn address space limit: unknown -> see ulimit -v",
            "warn stack limit: none -> an infinite recursion in main uses all memory before it is \
             detected as a stack overflow: ulimit -s 8192",
            "warn stack limit: 256 KiB -> programs may overflow their stacks: ulimit -s 8192",
            "ok stack limit: 8192 KiB",
            "warn stack limit: unknown -> see ulimit -s",
            "ok state directory: /home/me/state",
            "warn state directory: /home/me/state: No such file or directory (os error 2) -> traces are \
             not marked as your own, and a replay asks before it starts a program: set XDG_STATE_HOME to \
             a directory that you can write",
            "warn state directory: HOME is not set -> traces are not marked as your own, and a replay \
             asks before it starts a program: set XDG_STATE_HOME to a directory that you can write",
            "ok gdb: GNU gdb (Debian 13.1-3) 13.1",
            "warn gdb: GNU gdb 7.2 -> older than 12.0, not tested with Heddle",
            "warn gdb: found, but reports \"wrapper\" -> heddle gdb needs it",
            "warn gdb: not found -> heddle gdb needs it",
            "ok terminal: xterm, 80 x 24",
            "warn terminal: xterm, 79 x 24 -> heddle ui needs at least 80 x 24",
            "warn terminal: TERM=dumb -> heddle ui needs a terminal with cursor control",
            "warn terminal: standard output is not a terminal -> heddle ui needs a terminal",
        ],
    );
}
