//! The catalogue of the C library's functions, against the library's headers: a function that takes a descriptor
//! depends on what another task does to that descriptor.

use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use tests::headers::preprocessed;

const CATALOGUE: &str = include_str!("../../probes/src/instrument/binary/libc.txt");

/// The headers that declare functions with descriptors.
const HEADERS: &[&str] = &[
    "dirent.h",
    "fcntl.h",
    "mqueue.h",
    "poll.h",
    "spawn.h",
    "stdio.h",
    "stdlib.h",
    "sys/epoll.h",
    "sys/eventfd.h",
    "sys/file.h",
    "sys/inotify.h",
    "sys/ioctl.h",
    "sys/mman.h",
    "sys/sendfile.h",
    "sys/signalfd.h",
    "sys/socket.h",
    "sys/stat.h",
    "sys/statfs.h",
    "sys/statvfs.h",
    "sys/time.h",
    "sys/timerfd.h",
    "sys/uio.h",
    "sys/xattr.h",
    "termios.h",
    "unistd.h",
];

/// Arguments that no effect has to name, and why.
const OTHERS: &[(&str, usize, &str)] = &[
    ("select", 0, "how many descriptors the sets have"),
    ("pselect", 0, "how many descriptors the sets have"),
    ("isfdtype", 1, "a type of files"),
    ("mmap", 4, "the runtime's model of mappings uses it"),
    ("mmap64", 4, "the runtime's model of mappings uses it"),
    ("epoll_wait", 0, "the runtime's model of waits depends on it in the step that makes the call"),
    (
        "epoll_pwait",
        0,
        "the runtime's model of waits depends on it in the step that makes the call",
    ),
    (
        "epoll_pwait2",
        0,
        "the runtime's model of waits depends on it in the step that makes the call",
    ),
    ("posix_spawn_file_actions_addopen", 1, "the child uses it"),
    ("posix_spawn_file_actions_addclose", 1, "the child uses it"),
    ("posix_spawn_file_actions_adddup2", 1, "the child uses it"),
    ("posix_spawn_file_actions_adddup2", 2, "the child uses it"),
    ("posix_spawn_file_actions_addfchdir_np", 1, "the child uses it"),
    ("posix_spawn_file_actions_addtcsetpgrp_np", 1, "the child uses it"),
];

/// What the headers declare, as one line for each declaration.
fn declarations() -> Vec<String> {
    let text = preprocessed(HEADERS);
    let text = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ");
    // Attributes have parentheses of up to three levels.
    let attribute =
        Regex::new(r"__attribute__\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)").expect("a pattern");
    let text = attribute.replace_all(&text, " ").split_whitespace().collect::<Vec<_>>().join(" ");
    text.split([';', '{', '}']).map(|one| one.trim().to_owned()).collect()
}

/// The arguments of a function that are descriptors: their numbers.
fn descriptors(parameters: &str) -> Vec<usize> {
    let descriptor = Regex::new(r"^(int \w*(fd|fildes)\w*|mqd_t \w+)$").expect("a pattern");
    let parameters = parameters.split(',').map(str::trim).enumerate();
    parameters.filter(|(_, text)| descriptor.is_match(text)).map(|(number, _)| number).collect()
}

/// Whether the effects depend on the descriptor that is this argument.
fn depend_on(effects: &[&str], argument: usize) -> bool {
    let mut effects = effects.iter().map(|effect| effect.split('?').next().unwrap_or(effect));
    let own = ["fd", "slot", "takes", "gives", "closes"];
    effects.any(|effect| {
        let (kind, what) = effect.split_once(':').unwrap_or((effect, ""));
        let number: String = what.chars().take_while(char::is_ascii_digit).collect();
        what.starts_with("all:") && kind == "fd"
            || kind == "state" && what.starts_with("files:")
            || own.contains(&kind) && number == argument.to_string()
    })
}

#[test]
fn each_descriptor_that_a_function_takes_is_among_its_effects() {
    let lines = CATALOGUE.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let catalogue: BTreeMap<&str, Vec<&str>> = lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.collect()))
        })
        .collect();
    let function = Regex::new(r"\b(\w+) ?\(([^()]*)\)$").expect("a pattern");
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for declaration in declarations() {
        let Some(found) = function.captures(&declaration) else { continue };
        let (name, parameters) = (&found[1], &found[2]);
        let Some(effects) = catalogue.get(name) else { continue };
        for argument in descriptors(parameters) {
            let is_other = OTHERS.iter().any(|one| (one.0, one.1) == (name, argument));
            let is_new = seen.insert((name.to_owned(), argument));
            if is_new && !is_other && !depend_on(effects, argument) {
                wrong.push(format!("{name}, argument {argument}: {}", effects.join(" ")));
            }
        }
    }
    assert!(seen.len() > 120, "only {} arguments were compared: {seen:?}", seen.len());
    assert!(wrong.is_empty(), "no effect names the descriptor:\n{}", wrong.join("\n"));
}
