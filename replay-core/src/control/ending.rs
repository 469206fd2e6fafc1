//! How a process of the program ended, and whether something outside of the program ended it.

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};
use traces::wire::{ending_signal, was_ended_from_outside};

/// How often one piece of work is run when something outside of the program ends its process each
/// time.
pub(crate) const ATTEMPTS: u32 = 5;

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The description, after the name of the process: `it was killed by signal 11`.
    pub(crate) how: String,
    /// Whether something outside of the program ended it, which says nothing about the program.
    pub(crate) from_outside: bool,
    /// Whether a signal ended it.
    pub(crate) by_signal: bool,
}

impl Ending {
    /// An end that the program or Heddle itself caused.
    pub(crate) fn own(how: &str) -> Ending {
        Ending { how: how.to_owned(), from_outside: false, by_signal: false }
    }

    /// The meaning of a wait status. `unresponsive` says whether Heddle killed the process.
    pub(crate) fn of(status: i32, unresponsive: bool, before: &KillerCounts) -> Ending {
        let signal = ending_signal(status);
        if unresponsive {
            return Ending::own("it did not react to the signal that ends a spinning task");
        }
        if !was_ended_from_outside(status) {
            return match signal {
                0 => Ending::own(&format!("it exited with status {}", status >> 8 & 0xff)),
                _ => Ending {
                    by_signal: true,
                    ..Ending::own(&format!("it was killed by {}", name(signal)))
                },
            };
        }
        Ending::from_outside(status, before)
    }

    /// An end by a signal that was sent from outside of the program.
    pub(crate) fn from_outside(status: i32, before: &KillerCounts) -> Ending {
        let signal = ending_signal(status);
        let how = match signal {
            libc::SIGKILL => match before.since() {
                Some(killer) => format!("{killer} ended it"),
                None => {
                    "SIGKILL from outside of the program ended it: another process, or a limit \
                         of the system, sent the signal"
                        .to_owned()
                }
            },
            libc::SIGXCPU => {
                "it used up its processor time: raise the limit (ulimit -t)".to_owned()
            }
            libc::SIGXFSZ => {
                "it wrote a file beyond the limit on file size: raise the limit (ulimit -f)"
                    .to_owned()
            }
            _ => format!("{} from outside of the program ended it", name(signal)),
        };
        Ending { how, from_outside: true, by_signal: true }
    }
}

/// The name of a signal, or its number.
fn name(signal: i32) -> String {
    match Signal::try_from(signal) {
        Ok(known) => format!("signal {signal} ({})", known.as_str()),
        Err(_) => format!("signal {signal}"),
    }
    .replacen("signal 9 (SIGKILL)", "SIGKILL", 1)
}

/// How many processes the kernel's out-of-memory killer has ended, as far as that can be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KillerCounts {
    in_group: Option<u64>,
    in_system: Option<u64>,
}

impl KillerCounts {
    /// The counts at this moment.
    pub(crate) fn now() -> KillerCounts {
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let in_group = events_file(&groups)
            .and_then(|path| count(&std::fs::read_to_string(path).ok()?, "oom_kill"));
        let system = std::fs::read_to_string("/proc/vmstat").ok();
        KillerCounts { in_group, in_system: system.and_then(|text| count(&text, "oom_kill")) }
    }

    /// What the out-of-memory killer did since then, with what to do.
    fn since(&self) -> Option<&'static str> {
        KillerCounts::now().more_than(self)
    }

    fn more_than(&self, before: &KillerCounts) -> Option<&'static str> {
        if self.in_group > before.in_group {
            return Some(
                "the out-of-memory killer, at the memory limit of the control group (raise that \
                 limit, or use fewer --workers or a smaller --max-memory),",
            );
        }
        (self.in_system > before.in_system).then_some(
            "the out-of-memory killer, because the machine had no memory left (use fewer --workers \
             or a smaller --max-memory),",
        )
    }
}

/// The file in which the kernel counts what its out-of-memory killer ended in this process's control
/// group, from the content of `/proc/self/cgroup`. With version 1 of the interface, memory has its
/// own hierarchy.
fn events_file(groups: &str) -> Option<String> {
    let group = |is: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(is).then_some(path.trim_end_matches('/'))
        })
    };
    match group(&|name| name == "memory") {
        Some(path) => Some(format!("/sys/fs/cgroup/memory{path}/memory.oom_control")),
        None => Some(format!("/sys/fs/cgroup{}/memory.events", group(&str::is_empty)?)),
    }
}

/// The number in the line that begins with this word.
fn count(text: &str, word: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_described_with_its_cause_and_what_to_do() {
        let now = KillerCounts::now();
        let of = |status| Ending::of(status, false, &now);
        assert_eq!(of(3 << 8), Ending::own("it exited with status 3"));
        let fault = of(11 | 0x80);
        assert_eq!((fault.from_outside, fault.by_signal), (false, true));
        assert_eq!(fault.how, "it was killed by signal 11 (SIGSEGV)");
        assert!(of(9).from_outside && of(15).from_outside);
        assert_eq!(of(15).how, "signal 15 (SIGTERM) from outside of the program ended it");
        assert_eq!(of(24).how, "it used up its processor time: raise the limit (ulimit -t)");
        assert_eq!(
            of(25).how,
            "it wrote a file beyond the limit on file size: raise the limit (ulimit -f)"
        );
        if KillerCounts::now() == now {
            assert_eq!(
                of(9).how,
                "SIGKILL from outside of the program ended it: another process, or a limit of the \
                 system, sent the signal"
            );
        }
        assert_eq!(
            Ending::of(9, true, &now),
            Ending::own("it did not react to the signal that ends a spinning task")
        );
    }

    #[test]
    fn kills_are_counted_in_the_control_group_of_either_version() {
        let second = events_file("0::/user.slice/a\n");
        assert_eq!(second.as_deref(), Some("/sys/fs/cgroup/user.slice/a/memory.events"));
        let first = events_file("8:pids:/x\n4:memory:/a/b\n1:cpu,cpuacct:/\n0::/\n");
        assert_eq!(first.as_deref(), Some("/sys/fs/cgroup/memory/a/b/memory.oom_control"));
        assert_eq!(events_file("0::/\n").as_deref(), Some("/sys/fs/cgroup/memory.events"));
        assert_eq!(events_file(""), None);
    }

    #[test]
    fn the_out_of_memory_killer_is_recognised_by_its_counts() {
        let text = "low 0\nhigh 3\nmax 17\noom 2\noom_kill 1\noom_group_kill 0\n";
        assert_eq!(count(text, "oom_kill"), Some(1));
        assert_eq!(count("oom_kill_disable 0\n", "oom_kill"), None);
        let counts = |group, system| KillerCounts { in_group: group, in_system: system };
        let before = counts(Some(1), Some(4));
        assert_eq!(before.more_than(&before), None);
        let group = counts(Some(2), Some(5)).more_than(&before).expect("a kill");
        assert_eq!(
            group,
            "the out-of-memory killer, at the memory limit of the control group (raise that limit, or \
             use fewer --workers or a smaller --max-memory),"
        );
        let system = counts(Some(1), Some(5)).more_than(&before).expect("a kill");
        assert_eq!(
            system,
            "the out-of-memory killer, because the machine had no memory left (use fewer --workers or a \
             smaller --max-memory),"
        );
        assert_eq!(counts(None, None).more_than(&counts(None, None)), None);
    }
}
