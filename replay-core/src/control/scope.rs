//! `--atomic`, `--focus` and `--serial`: resolves patterns to ranges of code and to tasks.

use super::command::{Outcome, first_of};
use crate::glob::matches;
use crate::symbols::{Image, is_library};
use crate::{Error, SearchOptions, StrategyChoice, Target};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use traces::Module;
use traces::points::{CodeRange, PreemptionScope, SerialTasks};
use traces::predicate::ThreadMatch;

/// The code that the options' patterns match, in the program and its libraries. Runs one execution
/// to determine which modules are loaded.
pub(crate) fn resolve(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<PreemptionScope, Error> {
    let serial = serial_numbers(&options.serial)?;
    let needs_code =
        [&options.atomic, &options.focus].iter().any(|of| !of.is_empty()) || serial.contains(&None);
    if !needs_code {
        let serial = serial.into_iter().flatten().collect();
        let main_last = options.main_last;
        return Ok(PreemptionScope { serial, main_last, ..PreemptionScope::default() });
    }
    let plainly = SearchOptions {
        strategy: StrategyChoice::NON_PREEMPTIVE,
        points: traces::points::Granularity::Api,
        ..options.clone()
    };
    let (modules, tasks) = match first_of(target, &plainly, interrupt)? {
        Outcome::Recorded(trace) => (trace.execution.modules, trace.execution.tasks),
        Outcome::Interrupted => (Vec::new(), Vec::new()),
        Outcome::Diverged { what, .. } | Outcome::Died { how: what, .. } => {
            let program = target.program.display();
            let what = format!(
                "{program} must run once to resolve --atomic, --focus and --serial, and failed: {what}"
            );
            return Err(Error::Target(what));
        }
    };
    let named = |option: &str, patterns: &[String]| -> Result<Vec<CodeRange>, Error> {
        let mut all = Vec::new();
        for pattern in patterns {
            let found = stretches(pattern, &modules);
            if found.is_empty() && !modules.is_empty() {
                return Err(Error::Usage(format!(
                    "--{option} {pattern}: no module, source file or function of the program \
                     matches; * matches any text, and source files are only known with debug \
                     information"
                )));
            }
            all.extend(found);
        }
        Ok(all)
    };
    let atomic = named("atomic", &options.atomic)?;
    let focus = named("focus", &options.focus)?;
    let mut all = Vec::new();
    for (text, numbers) in options.serial.iter().zip(serial) {
        if let Some(numbers) = numbers {
            all.push(numbers);
            continue;
        }
        let functions = functions(text, &modules);
        let is_known = tasks.iter().any(|task| task.name == *text || task.function == *text);
        if functions.is_empty() && !is_known && !modules.is_empty() {
            let mut names: Vec<&str> = tasks
                .iter()
                .flat_map(|task| [&*task.name, &*task.function])
                .filter(|name| !name.is_empty())
                .collect();
            names.sort_unstable();
            names.dedup();
            names.truncate(5);
            return Err(Error::Usage(format!(
                "--serial {text}: no thread has this name or start function; the threads are {}, and \
                 T4..T9 names them by number",
                names.join(", ")
            )));
        }
        all.push(SerialTasks::Named { name: text.clone(), functions });
    }
    let focus = (!options.focus.is_empty()).then_some(focus);
    let limits_code = !options.atomic.is_empty() || !options.focus.is_empty();
    let own = if limits_code { own_code(&modules) } else { Vec::new() };
    Ok(PreemptionScope { atomic, focus, own, serial: all, main_last: options.main_last })
}

/// The code of the program that comes from the user's own source files, where that is known.
fn own_code(modules: &[Module]) -> Vec<CodeRange> {
    let Some(program) = modules.first() else { return Vec::new() };
    let Some(image) = Image::open(Path::new(&program.path)) else { return Vec::new() };
    let parts = image.parts(&|_| false, &|file| !is_library(file));
    let range = |part: std::ops::Range<u64>| CodeRange {
        module: String::new(),
        start: part.start,
        end: part.end,
    };
    parts.into_iter().map(range).collect()
}

/// The tasks that `T4` and `T4..T9` mean; none for a name.
fn serial_numbers(texts: &[String]) -> Result<Vec<Option<SerialTasks>>, Error> {
    let number = |text: &str| -> Option<u16> { text.strip_prefix('T')?.parse().ok() };
    let mut all = Vec::new();
    for text in texts {
        let numbers = match text.split_once("..") {
            Some((first, last)) => {
                let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
                let Some((first, last)) = range else {
                    return Err(Error::Usage(format!(
                        "--serial {text}: expected two threads, the first one with the smaller \
                         number, as in T4..T9"
                    )));
                };
                Some(SerialTasks::Numbers(first, last))
            }
            None => number(text).map(|number| SerialTasks::Numbers(number, number)),
        };
        all.push(numbers);
    }
    Ok(all)
}

/// The threads that `--serial` and predicates give by number and that no execution had: a note for each.
/// `threads` is the most threads that an execution had.
pub(crate) fn absent_threads(options: &SearchOptions, threads: u64) -> Vec<String> {
    let highest = threads.saturating_sub(1);
    let is_absent = |number: u16| threads > 0 && u64::from(number) > highest;
    let note = |what: &str, number: u16| {
        format!("{what}: no execution had a thread T{number}; the last one is T{highest}")
    };
    let mut all = Vec::new();
    for (text, tasks) in
        options.serial.iter().zip(serial_numbers(&options.serial).unwrap_or_default())
    {
        if let Some(SerialTasks::Numbers(first, _)) = tasks
            && is_absent(first)
        {
            all.push(note(&format!("--serial {text}"), first));
        }
    }
    for predicate in &options.predicates {
        for role in &predicate.roles {
            if let ThreadMatch::Number(number) = role.thread
                && is_absent(number)
            {
                all.push(note(&format!("predicate {}", predicate.text), number));
            }
        }
    }
    all
}

/// The code of the functions with this name.
fn functions(name: &str, modules: &[Module]) -> Vec<CodeRange> {
    let mut all = Vec::new();
    for (number, module) in modules.iter().enumerate() {
        let Some(image) = Image::open(Path::new(&module.path)) else { continue };
        let path = if number == 0 { String::new() } else { module.path.clone() };
        let found = image.functions_named(&|function| {
            function == name
                || function.strip_suffix(name).is_some_and(|before| before.ends_with("::"))
        });
        all.extend(found.into_iter().map(|range| CodeRange {
            module: path.clone(),
            start: range.start,
            end: range.end,
        }));
    }
    all
}

/// The code ranges that a pattern matches.
fn stretches(pattern: &str, modules: &[Module]) -> Vec<CodeRange> {
    let mut all = Vec::new();
    for (number, module) in modules.iter().enumerate() {
        // The dynamic loader has no name for the main program.
        let name = if number == 0 { String::new() } else { module.path.clone() };
        let stretch = |start, end| CodeRange { module: name.clone(), start, end };
        if is_called(&module.path, pattern) {
            all.push(stretch(0, u64::MAX));
            continue;
        }
        let Some(image) = Image::open(Path::new(&module.path)) else { continue };
        let parts =
            image.parts(&|function| matches(function, pattern), &|file| is_called(file, pattern));
        all.extend(parts.into_iter().map(|part| stretch(part.start, part.end)));
    }
    all
}

/// Whether a path matches: by its file name, or by its last components if the pattern has
/// directories.
fn is_called(path: &str, pattern: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    matches(name, pattern)
        || pattern.contains('/')
            && (matches(path, pattern) || matches(path, &format!("*/{pattern}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_tasks_are_numbers_or_names() {
        let read = |text: &str| serial_numbers(&[text.to_owned()]);
        assert_eq!(read("T4").expect("valid"), [Some(SerialTasks::Numbers(4, 4))]);
        assert_eq!(read("T4..T9").expect("valid"), [Some(SerialTasks::Numbers(4, 9))]);
        assert_eq!(read("logger").expect("valid"), [None]);
        for wrong in ["T9..T4", "T4..", "4..9", "..T4"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_by_name_and_by_the_end_of_their_path() {
        assert!(is_called("/src/lib/queue.c", "queue.c"));
        assert!(is_called("/src/lib/queue.c", "lib/*.c"));
        assert!(!is_called("/src/lib/queue.c", "other/queue.c"));
        assert!(!is_called("/src/lib/queue.c", "lib"));
    }
}
