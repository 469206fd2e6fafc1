//! `--atomic` and `--focus`: resolves patterns to ranges of code.

use super::command::{Outcome, first_of};
use crate::glob::matches;
use crate::symbols::Image;
use crate::{Error, SearchOptions, StrategyChoice, Target};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use traces::Module;
use traces::points::{CodeRange, PreemptionScope};

/// The code that the options' patterns match, in the program and its libraries. Runs one execution
/// to determine which modules are loaded.
pub(crate) fn resolve(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<PreemptionScope, Error> {
    if options.atomic.is_empty() && options.focus.is_empty() {
        return Ok(PreemptionScope::default());
    }
    let plainly = SearchOptions {
        strategy: StrategyChoice::NON_PREEMPTIVE,
        points: traces::points::Granularity::Api,
        ..options.clone()
    };
    let modules = match first_of(target, &plainly, interrupt)? {
        Outcome::Recorded(trace) => trace.execution.modules,
        Outcome::Interrupted => Vec::new(),
        Outcome::Diverged { what, .. } | Outcome::Died { how: what, .. } => {
            let program = target.program.display();
            let what = format!(
                "{program} must run once to resolve --atomic and --focus, and failed: {what}"
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
    Ok(PreemptionScope { atomic, focus: (!options.focus.is_empty()).then_some(focus) })
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
    fn files_by_name_and_by_the_end_of_their_path() {
        assert!(is_called("/src/lib/queue.c", "queue.c"));
        assert!(is_called("/src/lib/queue.c", "lib/*.c"));
        assert!(!is_called("/src/lib/queue.c", "other/queue.c"));
        assert!(!is_called("/src/lib/queue.c", "lib"));
    }
}
