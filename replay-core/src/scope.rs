//! `--atomic` and `--focus`: from patterns to parts of the program's code.

use crate::command::{Once, first_of};
use crate::symbols::Image;
use crate::{Error, SearchOptions, StrategyName, Target};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use traces::Module;
use traces::points::{Scope, Stretch};

/// What the patterns of the options name in the program and the libraries that it loads: one execution
/// shows which these are.
pub(crate) fn resolve(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Scope, Error> {
    if options.atomic.is_empty() && options.focus.is_empty() {
        return Ok(Scope::default());
    }
    let plainly = SearchOptions {
        strategy: StrategyName::Default,
        points: traces::points::Granularity::Api,
        ..options.clone()
    };
    let modules = match first_of(target, &plainly, interrupt)? {
        Once::Recorded(trace) => trace.execution.modules,
        Once::Interrupted => Vec::new(),
        Once::Diverged { what, .. } | Once::Died { how: what } => {
            let program = target.program.display();
            let what = format!(
                "{program} had to run once to see what --atomic and --focus mean, and did not: {what}"
            );
            return Err(Error::Target(what));
        }
    };
    let named = |option: &str, patterns: &[String]| -> Result<Vec<Stretch>, Error> {
        let mut all = Vec::new();
        for pattern in patterns {
            let found = stretches(pattern, &modules);
            if found.is_empty() && !modules.is_empty() {
                return Err(Error::Usage(format!(
                    "--{option} {pattern}: no module, source file or function that the program has \
                     is called so; * stands for anything, and without debug information there are \
                     no files"
                )));
            }
            all.extend(found);
        }
        Ok(all)
    };
    let atomic = named("atomic", &options.atomic)?;
    let focus = named("focus", &options.focus)?;
    Ok(Scope { atomic, focus: (!options.focus.is_empty()).then_some(focus) })
}

/// What a pattern names.
fn stretches(pattern: &str, modules: &[Module]) -> Vec<Stretch> {
    let mut all = Vec::new();
    for (number, module) in modules.iter().enumerate() {
        // The loader has no name for the program.
        let name = if number == 0 { String::new() } else { module.path.clone() };
        let stretch = |start, end| Stretch { module: name.clone(), start, end };
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

/// Whether a file is called so: its name, or the end of its path where the pattern has directories.
fn is_called(path: &str, pattern: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    matches(name, pattern)
        || pattern.contains('/')
            && (matches(path, pattern) || matches(path, &format!("*/{pattern}")))
}

/// Whether a text fits a pattern, in which `*` stands for anything and `?` for one character.
pub(crate) fn matches(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut with) = (0, 0);
    // Where the last star stands, and what it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(with) {
            Some('*') => {
                star = Some((with, at));
                with += 1;
            }
            Some(&one) if one == '?' || one == text[at] => (at, with) = (at + 1, with + 1),
            _ => match &mut star {
                Some((stands, taken)) => {
                    *taken += 1;
                    (at, with) = (*taken, *stands + 1);
                }
                None => return false,
            },
        }
    }
    pattern[with..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        let fits =
            [("push", "push"), ("queue::push", "queue::*"), ("a", "*"), ("", "*"), ("abab", "*ab")];
        for (text, pattern) in fits.into_iter().chain([("abc", "a?c"), ("a.b.c", "*.*")]) {
            assert!(matches(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in
            [("push", "pus"), ("push", "ush"), ("", "?"), ("abc", "*d"), ("aa", "a")]
        {
            assert!(!matches(text, pattern), "{text} {pattern}");
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
