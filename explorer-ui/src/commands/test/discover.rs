//! The tests of programs: each program is asked for its list.

use super::child;
use crate::cli::arguments::TestArgs;
use crate::exit::Problem;
use crate::suites::{
    Framework, Listed, Listing, Program, ctest, programs, registry, without_printed,
};
use crate::text_file;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long a program may take to list its tests.
const LISTING_TIME: Duration = Duration::from_secs(20);

/// A program with its tests.
#[derive(Debug)]
pub(super) struct Suite {
    pub(super) program: Program,
    /// `None` if the program is one test, which has no name.
    pub(super) framework: Option<&'static Framework>,
    /// The tests, or why they are not known.
    pub(super) tests: Result<Vec<Listed>, String>,
}

/// The programs that the command line names.
///
/// # Errors
/// If a build directory or a file of commands cannot be read.
pub(super) fn programs(args: &TestArgs, interrupted: &AtomicBool) -> Result<Vec<Program>, Problem> {
    let here = std::env::current_dir().map_err(|error| {
        Problem::Usage(format!("the working directory cannot be used ({error})"))
    })?;
    let mut all = Vec::new();
    for path in &args.programs {
        if path.is_dir() {
            all.extend(of_build_directory(&here.join(path), interrupted)?);
            continue;
        }
        all.push(Program {
            name: stem(path),
            command: vec![path.clone().into_os_string()],
            directory: here.clone(),
            ..Program::default()
        });
    }
    if let Some(path) = &args.commands {
        let unreadable = |what: String| Problem::Usage(format!("{}: {what}", path.display()));
        let text = text_file::named(path)
            .map_err(|error| unreadable(format!("cannot read the commands: {error}")))?;
        all.extend(programs::of_lines(&text, &here).map_err(unreadable)?);
    }
    Ok(all)
}

/// The file's name, without the hash that cargo appends.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    match name.rsplit_once('-') {
        Some((stem, hash))
            if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            stem.to_owned()
        }
        _ => name.into_owned(),
    }
}

/// The tests in Meson's list, with the variables of this process.
fn of_meson(text: &str, build: &Path) -> Result<Vec<Program>, String> {
    programs::of_meson(text, build, |name| std::env::var(name).ok())
}

/// The tests that CTest or Meson knows.
fn of_build_directory(build: &Path, interrupted: &AtomicBool) -> Result<Vec<Program>, Problem> {
    type Parse = fn(&str, &Path) -> Result<Vec<Program>, String>;
    let (tool, arguments, parse): (&str, &[&str], Parse) = if build
        .join("CTestTestfile.cmake")
        .is_file()
    {
        ("ctest", &["--show-only=json-v1"], ctest::of_ctest)
    } else if build.join("meson-info").is_dir() {
        ("meson", &["introspect", "--tests"], of_meson)
    } else {
        return Err(Problem::Usage(format!(
            "{}: neither a build directory of CMake with tests (no CTestTestfile.cmake) nor one \
                 of Meson (no meson-info): name the test programs",
            build.display()
        )));
    };
    let mut command = Command::new(tool);
    command.args(arguments).current_dir(build);
    let failed = |what: String| {
        Problem::Usage(format!("{}: {tool} {} {what}", build.display(), arguments.join(" ")))
    };
    let ended = child::run(&mut command, LISTING_TIME, interrupted)
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    match ended.status {
        Some(status) if status.success() => {
            let unknown = |what| Problem::Usage(format!("{}: {what}", build.display()));
            parse(&ended.stdout, build).map_err(unknown)
        }
        Some(_) => Err(failed(format!("failed: {}", first_line(&ended.stderr)))),
        None => Err(failed(late(LISTING_TIME))),
    }
}

/// Asks a program for its tests.
pub(super) fn list(mut program: Program, interrupted: &AtomicBool) -> Suite {
    let typed = program.command.first().cloned().unwrap_or_default();
    if let Some(first) = program.command.first_mut() {
        // A process started in another directory must find the same file.
        *first = found(first, &program.directory).into_os_string();
    }
    let one_test = |program| Suite { program, framework: None, tests: Ok(vec![Listed::new("")]) };
    if program.is_one_test || program.disabled.is_some() || program.unusable.is_some() {
        return one_test(program);
    }
    let path = PathBuf::from(&program.command[0]);
    let content = match std::fs::read(&path) {
        Ok(content) => content,
        Err(error) => {
            let why = format!("{} cannot be read: {error}", typed.to_string_lossy());
            return Suite { program, framework: None, tests: Err(why) };
        }
    };
    let mut asked = Vec::new();
    for framework in registry::candidates(&content) {
        match of_framework(&program, framework, LISTING_TIME, interrupted) {
            Ok(tests) => return Suite { program, framework: Some(framework), tests: Ok(tests) },
            Err(why) => asked.push(format!("{} {why}", framework.listing.join(" "))),
        }
    }
    if asked.is_empty() {
        return one_test(program);
    }
    let why = format!("its tests are not known: {}", asked.join("; "));
    Suite { program, framework: None, tests: Err(why) }
}

fn late(time: Duration) -> String {
    format!("did not end within {} s", time.as_secs())
}

fn of_framework(
    program: &Program,
    framework: &Framework,
    time: Duration,
    interrupted: &AtomicBool,
) -> Result<Vec<Listed>, String> {
    let ask = |arguments: &[&str]| {
        let mut command = Command::new(&program.command[0]);
        command.args(&program.command[1..]).args(arguments).current_dir(&program.directory);
        command.envs(program.environment.iter().map(|(name, value)| (name, value)));
        let ended = child::run(&mut command, time, interrupted)
            .map_err(|error| format!("cannot be started: {error}"))?;
        if ended.status.is_none() {
            return Err(late(time));
        }
        let listing = Listing { stdout: &ended.stdout, stderr: &ended.stderr };
        let printed = if ended.stdout.is_empty() { &ended.stderr } else { &ended.stdout };
        let no_list = || format!("printed no list of tests but `{}`", first_line(printed));
        Ok((framework.parse)(&listing).ok_or_else(no_list))
    };
    let first = ask(framework.listing)??;
    let second = match framework.second {
        // What a program prints beside a list without tests is no list: only the first one counts.
        Some(second) => match ask(second.arguments())? {
            Ok(second) => second,
            Err(_) => return Ok(first),
        },
        None => Vec::new(),
    };
    // A line that the program prints itself is in each list.
    let is_in_both = first.iter().any(|test| second.iter().any(|other| other.name == test.name));
    let printed = match framework.empty.filter(|_| is_in_both) {
        Some(arguments) => ask(arguments)?.unwrap_or_default(),
        None => Vec::new(),
    };
    Ok(without_printed(framework.combine(first, second), &printed))
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing").trim()
}

/// The file of a program that may be rebuilt.
pub(super) fn executable(program: &Program) -> Option<PathBuf> {
    Some(found(program.command.first()?, &program.directory))
}

/// The file that a command's first word names, as a shell in this directory would find it.
fn found(word: &OsStr, directory: &Path) -> PathBuf {
    let path = Path::new(word);
    if path.components().count() > 1 || directory.join(path).is_file() {
        return directory.join(path);
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&search).map(|place| place.join(path));
    places.find(|place| place.is_file()).unwrap_or_else(|| directory.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    #[test]
    fn a_program_that_does_not_end_lists_no_tests() {
        let program = Program {
            command: ["sh", "-c", "kill -STOP $$"].map(OsString::from).to_vec(),
            directory: PathBuf::from("/"),
            ..Program::default()
        };
        let framework = registry::FRAMEWORKS.first().expect("there are some");
        let never = AtomicBool::new(false);
        let listed = of_framework(&program, framework, Duration::ZERO, &never);
        assert_eq!(listed.expect_err("it stops itself"), "did not end within 0 s");
    }

    #[test]
    fn names_are_without_the_hash_of_cargo() {
        for (path, name) in [
            ("target/debug/deps/bank-0123456789abcdef", "bank"),
            ("./queue-test", "queue-test"),
            ("a-0123456789abcdeg", "a-0123456789abcdeg"),
        ] {
            assert_eq!(stem(Path::new(path)), name);
        }
    }
}
