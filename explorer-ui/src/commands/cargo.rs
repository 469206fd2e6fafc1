//! `cargo heddle`: builds with cargo, and passes what was built to the other verbs.

use super::test::{Request, run, watch};
use crate::cli::arguments::{CargoBuildArgs, CargoRunArgs, CargoTestArgs, CargoVerb};
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::report::text::clean;
use crate::source_watch::SourceWatch;
use crate::suites::Program;
use crate::suites::cargo::{Built, built};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Runs the verb.
///
/// # Errors
/// If cargo cannot be started or does not build, or what it built cannot be run.
pub fn main(verb: CargoVerb, console: &Console) -> Result<Status, Problem> {
    match verb {
        CargoVerb::Test(args) => test(*args, console),
        CargoVerb::Run(args) => run_program(&args),
        CargoVerb::Build(args) => {
            let words = ["build", "--"].map(OsString::from).into_iter();
            become_heddle(words.chain([cargo(), "build".into()]).chain(args.words))
        }
        CargoVerb::Explain(args) => {
            become_heddle([OsString::from("explain")].into_iter().chain(args.words))
        }
        CargoVerb::Ui(args) => become_heddle([OsString::from("ui")].into_iter().chain(args.words)),
    }
}

fn test(args: CargoTestArgs, console: &Console) -> Result<Status, Problem> {
    if args.doc {
        return Err(Problem::Usage(
            "--doc: tests in documentation are not searched, since rustdoc compiles and runs them \
             itself: write an example that creates threads as a #[test] function, and run the \
             examples with cargo test --doc"
                .into(),
        ));
    }
    let interrupted = interrupt::flag();
    let CargoTestArgs { cargo, suite, mut filter, named_filter, options, .. } = args;
    filter.extend(named_filter);
    let request = Request { args: suite, filter, options, ..Request::default() };
    // Before the build, so that no change is missed.
    let sources = request.args.watch.then(|| SourceWatch::of(&packages(&cargo)?)).transpose()?;
    let tests = test_programs(&cargo, console)?;
    let Some(mut sources) = sources else {
        return run(&request, tests, &interrupted, console);
    };
    let mut rebuild = || test_programs(&cargo, console);
    let mut wait = || sources.wait(&interrupted);
    watch::run(&request, tests, &mut rebuild, &mut wait, &interrupted, console)
}

/// Builds the test programs.
fn test_programs(args: &CargoBuildArgs, console: &Console) -> Result<Vec<Program>, Problem> {
    let built = build(&["test", "--no-run"], args)?;
    if built.iter().any(|one| one.is_test && one.is_library) {
        console.note("heddle: tests in documentation are left out: cargo test --doc runs them");
    }
    let tests: Vec<Program> =
        built.into_iter().filter(|one| one.is_test).map(|one| one.program).collect();
    match tests.is_empty() {
        false => Ok(tests),
        true => Err(Problem::Usage("cargo built no test program for these options".into())),
    }
}

/// The directories of the workspace's packages.
fn packages(args: &CargoBuildArgs) -> Result<Vec<PathBuf>, Problem> {
    let mut command = Command::new(cargo());
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let offline = [("--locked", args.locked), ("--offline", args.offline)];
    command.args(offline.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name));
    if let Some(manifest) = &args.manifest_path {
        command.arg("--manifest-path").arg(manifest);
    }
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Problem::Usage(format!("cargo cannot be started: {error}")))?;
    let directories = crate::suites::cargo::packages(&String::from_utf8_lossy(&output.stdout));
    match directories.is_empty() {
        false => Ok(directories),
        true => Err(Problem::Usage(
            "`cargo metadata` names no package to watch; its message is above".into(),
        )),
    }
}

fn run_program(args: &CargoRunArgs) -> Result<Status, Problem> {
    let built = build(&["build"], &args.cargo)?;
    let programs: Vec<Program> =
        built.into_iter().filter(|one| !one.is_test).map(|one| one.program).collect();
    let program = only(&programs).map_err(Problem::Usage)?;
    let words = ["run", "--"].map(OsString::from).into_iter();
    become_heddle(words.chain(program.command.clone()).chain(args.words.clone()))
}

/// The program that cargo built, if it is the only one.
fn only(programs: &[Program]) -> Result<&Program, String> {
    match programs {
        [one] => Ok(one),
        [] => Err("cargo built no program for these options".to_owned()),
        several => {
            let names: Vec<String> = several.iter().map(|one| clean(&one.name)).collect();
            Err(format!(
                "cargo built several programs ({}): choose one with --bin or --example",
                names.join(", ")
            ))
        }
    }
}

/// Builds with cargo, whose messages for people go to standard error as usual.
fn build(verb: &[&str], args: &CargoBuildArgs) -> Result<Vec<Built>, Problem> {
    let mut command = Command::new(cargo());
    command.args(verb).arg("--message-format=json-render-diagnostics").args(words(args));
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command
        .output()
        .map_err(|error| Problem::Usage(format!("cargo cannot be started: {error}")))?;
    if !output.status.success() {
        return Err(Problem::Usage("cargo did not build this; its message is above".into()));
    }
    Ok(built(&String::from_utf8_lossy(&output.stdout), &libraries()))
}

/// `LD_LIBRARY_PATH` for test programs that use Rust's own libraries dynamically.
fn libraries() -> String {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let root = Command::new(compiler).args(["--print", "sysroot"]).output().ok();
    let root = root.filter(|output| output.status.success());
    let own = root.map(|output| format!("{}/lib", String::from_utf8_lossy(&output.stdout).trim()));
    let present = std::env::var("LD_LIBRARY_PATH").ok().filter(|paths| !paths.is_empty());
    present.into_iter().chain(own).collect::<Vec<_>>().join(":")
}

/// The options as cargo takes them.
fn words(args: &CargoBuildArgs) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for (name, values) in [
        ("--package", &args.package),
        ("--exclude", &args.exclude),
        ("--bin", &args.bin),
        ("--test", &args.test),
        ("--example", &args.example),
        ("--features", &args.features),
    ] {
        words.extend(values.iter().map(|value| format!("{name}={value}").into()));
    }
    for (name, is_given) in [
        ("--workspace", args.workspace),
        ("--lib", args.lib),
        ("--bins", args.bins),
        ("--tests", args.tests),
        ("--examples", args.examples),
        ("--all-targets", args.all_targets),
        ("--all-features", args.all_features),
        ("--no-default-features", args.no_default_features),
        ("--release", args.release),
        ("--locked", args.locked),
        ("--offline", args.offline),
    ] {
        words.extend(is_given.then(|| name.into()));
    }
    let profile = args.profile.as_ref().map(OsString::from);
    let target = args.target_dir.as_ref().map(|path| path.clone().into_os_string());
    let manifest = args.manifest_path.as_ref().map(|path| path.clone().into_os_string());
    for (name, value) in
        [("--profile", profile), ("--target-dir", target), ("--manifest-path", manifest)]
    {
        words.extend(value.into_iter().flat_map(|value| [name.into(), value]));
    }
    words
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Replaces this process by this program with other arguments.
fn become_heddle(words: impl IntoIterator<Item = OsString>) -> Result<Status, Problem> {
    let own = std::env::current_exe().map_err(|error| {
        Problem::Usage(format!("heddle cannot find its own executable: {error}"))
    })?;
    let error = Command::new(own).args(words).exec();
    Err(Problem::Usage(format!("heddle cannot be started again: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_passed_in_the_names_of_cargo() {
        let args = CargoBuildArgs {
            package: vec!["bank".into()],
            all_features: true,
            profile: Some("ci".into()),
            ..CargoBuildArgs::default()
        };
        assert_eq!(words(&args), ["--package=bank", "--all-features", "--profile", "ci"]);
    }

    #[test]
    fn one_program_is_needed() {
        let program = |name: &str| Program { name: name.to_owned(), ..Program::default() };
        let (bank, queue) = (program("bank"), program("queue"));
        assert_eq!(only(&[]).expect_err("none"), "cargo built no program for these options");
        assert_eq!(
            only(&[bank, queue]).expect_err("two"),
            "cargo built several programs (bank, queue): choose one with --bin or --example"
        );
        assert!(only(&[program("bank")]).is_ok());
    }
}
