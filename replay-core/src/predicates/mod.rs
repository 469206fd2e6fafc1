//! Concurrent predicates (`--when`) and conditions that are watched (`--always`, `--never`): parses,
//! checks and compiles them for a program.

mod calls;
mod condition;
mod entries;
mod grammar;
mod nearest;
mod operands;
mod scalars;
mod sites;
mod variables;
mod writes;

use crate::control::command::{Outcome, first_of};
use crate::explain::source::Language;
use crate::symbols::Image;
use crate::{Error, SearchOptions, StrategyChoice, Target};
use grammar::{Parts, RoleText, Wrong};
use nearest::{nearest, offer};
pub(crate) use operands::{Operand, Worth};
pub(crate) use scalars::Scalar;
use sites::{CodeModule, Resolved};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use traces::Execution;
use traces::points::Granularity;
use traces::points::StartPoint;
use traces::predicate::{LONGEST, MOST, MOST_ROLES, Predicate, Purpose, Role, ThreadMatch};
use variables::{RoleSite, Scope};

/// Compiles the predicates of the options. Runs one execution to determine which modules are loaded
/// and which threads there are.
///
/// # Errors
/// If a predicate is invalid; the message shows the position in it. If the program cannot be run.
pub fn compile(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<SearchOptions, Error> {
    let start_at = match options.begin_at.as_str() {
        "" => None,
        "idle" => Some(StartPoint::Idle),
        _ => Some(StartPoint::Site),
    };
    let options = &SearchOptions { start_at, ..options.clone() };
    let sites: Vec<String> = match start_at {
        Some(StartPoint::Site) => vec![format!("*@{}", options.begin_at)],
        _ => Vec::new(),
    };
    let all = [
        (Purpose::Satisfy, &options.when),
        (Purpose::Always, &options.always),
        (Purpose::Never, &options.never),
        (Purpose::Through, &options.through),
        (Purpose::Start, &sites),
    ];
    let texts =
        || all.iter().flat_map(|(purpose, texts)| texts.iter().map(|text| (*purpose, text)));
    let Some((first, _)) = texts().next() else { return Ok(options.clone()) };
    if options.points == Granularity::Api {
        let why = match first {
            Purpose::Satisfy
            | Purpose::Through
            | Purpose::Note
            | Purpose::Visit
            | Purpose::Start => "its sites are no synchronisation calls",
            Purpose::Always | Purpose::Never => "it watches writes to memory",
        };
        return Err(Error::Usage(format!("{} needs --points racy or all: {why}", option(first))));
    }
    if texts().count() > MOST {
        return Err(Error::Usage(format!(
            "--when, --always, --never and --through together take at most {MOST} conditions"
        )));
    }
    // What needs no program is checked first.
    for (purpose, text) in texts() {
        if purpose == Purpose::Start
            && text.contains([':', '&', ' '])
            && !is_line(&options.begin_at)
        {
            let what = "expected idle, a function, or FILE:LINE";
            return Err(shown(text, purpose, Wrong { at: 2, what: what.to_owned() }));
        }
        parse(text, purpose).map_err(|wrong| shown(text, purpose, wrong))?;
    }
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    // At sites that no thread reaches, or after the end of what is watched, nothing breaks either.
    let opposite = |text: &&String| {
        let is_lasting = !text.contains('@') && !text.contains(" until ");
        is_lasting && options.always.iter().any(|other| bare(other) == bare(text))
    };
    if let Some(text) = options.never.iter().find(opposite) {
        let what = "--always says the opposite, so every execution breaks one of the two";
        let wrong = Wrong { at: 0, what: what.to_owned() };
        return Err(shown(text, Purpose::Never, wrong));
    }
    let Some(program) = Program::of(target, options, option(first), interrupt)? else {
        return Ok(options.clone());
    };
    let mut predicates = Vec::new();
    for (purpose, text) in texts() {
        let one = predicate(text, purpose, &program);
        predicates.push(one.map_err(|wrong| shown(text, purpose, wrong))?);
    }
    Ok(SearchOptions { predicates, ..options.clone() })
}

/// What the path of the runtime contains, whose functions are no part of the program.
const RUNTIME: &str = "/heddle-runtime-";

/// What predicates refer to: the program's modules and the names of its threads.
struct Program {
    modules: Vec<CodeModule>,
    threads: Vec<String>,
    sites: Resolved,
}

impl Program {
    /// Runs one execution to determine them; none if it was interrupted.
    fn of(
        target: &Target,
        options: &SearchOptions,
        needed_for: &str,
        interrupt: &AtomicBool,
    ) -> Result<Option<Program>, Error> {
        let plainly = SearchOptions {
            strategy: StrategyChoice::NON_PREEMPTIVE,
            points: Granularity::Api,
            when: Vec::new(),
            always: Vec::new(),
            never: Vec::new(),
            through: Vec::new(),
            ..options.clone()
        };
        let execution = match first_of(target, &plainly, interrupt)? {
            Outcome::Recorded(trace) => trace.execution,
            Outcome::Interrupted => return Ok(None),
            Outcome::Diverged { what, .. } | Outcome::Died { how: what, .. } => {
                let program = target.program.display();
                return Err(Error::Target(format!(
                    "{program} must run once to resolve {needed_for}, and failed: {what}"
                )));
            }
        };
        Ok(Some(Program::of_execution(&execution)))
    }

    /// Those of a recorded execution.
    fn of_execution(execution: &Execution) -> Program {
        let open = |(number, module): (usize, &traces::Module)| {
            // The dynamic loader has no name for the main program.
            let name = if number == 0 { String::new() } else { module.path.clone() };
            let is_runtime = module.path.contains(RUNTIME);
            let is_system = ["/lib", "/usr/lib", "["].iter().any(|it| module.path.starts_with(it));
            let is_own = number == 0 || !is_runtime && !is_system;
            let image = Image::open(Path::new(&module.path)).filter(|_| is_own)?;
            Some(CodeModule::new(name, image))
        };
        let modules: Vec<CodeModule> =
            execution.modules.iter().enumerate().filter_map(open).collect();
        let threads: Vec<String> = execution
            .tasks
            .iter()
            .flat_map(|task| [task.name.clone(), task.function.clone()])
            .filter(|name| !name.is_empty())
            .collect();
        Program { modules, threads, sites: Resolved::default() }
    }
}

/// Compiles predicates for the program of a recorded execution.
pub(crate) struct Compiler(Program);

impl Compiler {
    /// For the program of this execution.
    pub(crate) fn of(execution: &Execution) -> Compiler {
        Compiler(Program::of_execution(execution))
    }

    /// Whether the program has debug information.
    pub(crate) fn has_lines(&self) -> bool {
        sites::file_of_main(&self.0.modules).is_some()
    }

    /// The next line with code in the function that contains a line.
    pub(crate) fn line_after(&self, path: &str, line: u32) -> Option<u32> {
        sites::line_after(path, line, &self.0.modules)
    }

    /// Whether a line executes something before its first write to memory.
    pub(crate) fn writes_behind(&self, path: &str, line: u32) -> bool {
        sites::writes_behind(path, line, &self.0.modules)
    }

    /// The predicate; none if it is invalid for the program.
    pub(crate) fn compile(&self, text: &str, purpose: Purpose) -> Option<Predicate> {
        predicate(text, purpose, &self.0).ok()
    }
}

/// Parses a predicate and checks what needs no program.
fn parse(text: &str, purpose: Purpose) -> Result<Parts, Wrong> {
    if text.len() > LONGEST {
        return Wrong::new(0, format!("the predicate has more than {LONGEST} characters"));
    }
    let parts = match purpose {
        Purpose::Satisfy | Purpose::Through | Purpose::Note | Purpose::Visit | Purpose::Start => {
            grammar::parse(text)?
        }
        Purpose::Always | Purpose::Never => grammar::parse_watched(text)?,
    };
    if purpose == Purpose::Always && parts.condition.is_none() {
        let at = text.trim_end().len();
        return Wrong::new(at, "expected : and a condition that is to hold there");
    }
    let all: usize = parts.roles.iter().map(|role| role.count).sum();
    if all > MOST_ROLES {
        return Wrong::new(0, format!("the predicate has more than {MOST_ROLES} threads"));
    }
    for (at, role) in parts.roles.iter().enumerate() {
        let earlier = parts.roles[..at].iter().find(|other| {
            number(&other.thread).is_some() && number(&other.thread) == number(&role.thread)
        });
        if earlier.is_some() {
            return Wrong::new(
                role.span.start,
                format!(
                    "{} cannot be at two sites at once, so the predicate can never hold",
                    role.thread
                ),
            );
        }
    }
    Ok(parts)
}

/// The number of a thread written as `T2`; `main` is `T0`.
fn number(thread: &str) -> Option<u16> {
    match thread {
        "main" => Some(0),
        thread => thread.strip_prefix('T')?.parse().ok(),
    }
}

fn predicate(text: &str, purpose: Purpose, program: &Program) -> Result<Predicate, Wrong> {
    let Program { modules, threads, sites: resolved } = program;
    let parts = parse(text, purpose)?;
    let mut sites = Vec::new();
    let mut matches = Vec::new();
    for role in &parts.roles {
        let thread = thread(role, modules, threads)?;
        let places = resolved.resolve(role, modules)?;
        for _ in 0..role.count {
            matches.push((thread.clone(), text[role.span.clone()].to_owned(), role.write));
            sites.push(RoleSite { thread: role.thread.clone(), places: places.clone() });
        }
    }
    let place = sites.first().and_then(|role| role.places.first());
    let file = place.map(|place| place.file.clone()).or_else(|| sites::file_of_main(modules));
    let language = file.and_then(|file| Language::of(Path::new(&file))).unwrap_or(Language::C);
    let mut scope = Scope::new(modules, &sites);
    let (mut code, mut own, mut shared) = (Vec::new(), vec![Vec::new(); sites.len()], Vec::new());
    if let Some(range) = parts.condition {
        let at = range.start;
        let compiled = condition::compile(&text[range], at, language, &mut scope)?;
        let useless = match (purpose, compiled.fixed) {
            (
                Purpose::Satisfy
                | Purpose::Through
                | Purpose::Note
                | Purpose::Visit
                | Purpose::Start,
                Some(false),
            ) => Some("the condition is always false, so the predicate can never hold"),
            (Purpose::Always, Some(true)) | (Purpose::Never, Some(false)) => {
                Some("the condition reads no variable, so nothing can break it")
            }
            (Purpose::Always, Some(false)) | (Purpose::Never, Some(true)) => {
                Some("the condition reads no variable, and every execution breaks it")
            }
            _ => None,
        };
        if let Some(useless) = useless {
            return Wrong::new(at, useless);
        }
        if let Some(Wrong { at, what }) = compiled.contradiction {
            let so = match purpose {
                Purpose::Always => "so every execution breaks the condition",
                Purpose::Never => "so nothing can break the condition",
                _ => "so the predicate can never hold",
            };
            return Wrong::new(at, format!("{what}, {so}"));
        }
        code = compiled.code;
        // A thread waits at a site for what is sought; the opposite of a condition has no such parts.
        if purpose != Purpose::Always {
            (own, shared) = (compiled.own, compiled.shared);
        }
    }
    let mut until = Vec::new();
    if let Some(range) = parts.until {
        let at = range.start;
        until = condition::compile(&text[range], at, language, &mut scope)?.code;
    }
    let slots = std::mem::take(&mut scope.slots);
    let roles = matches.into_iter().zip(&sites).zip(own).map(|((role, site), own)| {
        let (thread, text, before_write) = role;
        let places = site.places.iter().map(|place| place.at.clone()).collect();
        let counted = site.places.iter().filter(|_| purpose.counts());
        let extents = counted.map(|place| place.extent(modules)).collect();
        Role { text, thread, places, own, before_write, extents }
    });
    let roles = roles.collect();
    let text = match purpose {
        Purpose::Satisfy | Purpose::Note => text.to_owned(),
        Purpose::Always => format!("always {text}"),
        Purpose::Never => format!("never {text}"),
        Purpose::Through => format!("through {text}"),
        Purpose::Visit => format!("visit {text}"),
        Purpose::Start => format!("start {text}"),
    };
    Ok(Predicate { text, roles, slots, condition: code, shared, purpose, until })
}

fn thread(
    role: &RoleText,
    modules: &[CodeModule],
    threads: &[String],
) -> Result<ThreadMatch, Wrong> {
    if role.thread == "*" {
        return Ok(ThreadMatch::Any);
    }
    if let Some(number) = number(&role.thread) {
        return Ok(ThreadMatch::Number(number));
    }
    let functions = sites::entries(&role.thread, modules);
    let is_name = threads.contains(&role.thread);
    if functions.is_empty() && !is_name {
        let near = nearest(&role.thread, threads.iter().map(String::as_str));
        let near = match near.is_empty() {
            true => {
                let mut all = threads.to_vec();
                all.sort();
                all.dedup();
                all.truncate(5);
                format!("; the threads are {}", all.join(", "))
            }
            false => offer(&near),
        };
        return Wrong::new(
            role.span.start,
            format!("no thread has the name or the start function {}{near}", role.thread),
        );
    }
    Ok(ThreadMatch::Named { name: role.thread.clone(), functions })
}

/// Whether a text is FILE:LINE.
fn is_line(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(file, line)| {
        !file.contains([':', '&', ' '])
            && !line.is_empty()
            && line.bytes().all(|it| it.is_ascii_digit())
    })
}

/// The error with its position in the predicate.
fn shown(text: &str, purpose: Purpose, wrong: Wrong) -> Error {
    // The user wrote the site alone.
    let (text, wrong) = match purpose {
        Purpose::Start => (&text[2..], Wrong { at: wrong.at.saturating_sub(2), ..wrong }),
        _ => (text, wrong),
    };
    let at = text.get(..wrong.at).map_or(0, |before| before.chars().count());
    Error::Predicate { option: option(purpose), what: wrong.what, text: text.to_owned(), at }
}

/// The option that takes texts for a purpose.
fn option(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Satisfy | Purpose::Visit => "--when",
        Purpose::Always => "--always",
        Purpose::Never => "--never",
        Purpose::Through | Purpose::Note => "--through",
        Purpose::Start => "--begin-at",
    }
}
