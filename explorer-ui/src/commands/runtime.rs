//! The runtime that this program carries, and the target that a command line names.

use super::test::misnamed;
use crate::cli::arguments::ProgramArgs;
use crate::console::Console;
use crate::exit::Problem;
use crate::report::text::clean;
use replay_core::runtime::Library;
use replay_core::{FollowedChild, Target, WorkingFiles};
use std::ffi::OsString;
use traces::wire::FilePolicy;

/// The runtime as the build script compressed it.
static COMPRESSED: &[u8] = include_bytes!(env!("HEDDLE_RUNTIME"));

/// The library that runs inside targets, built along with this program; its hash is empty in a build without it.
pub(super) fn embedded() -> Library {
    Library { hash: env!("HEDDLE_RUNTIME_HASH"), bytes: decompressed }
}

fn decompressed() -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec_zlib(COMPRESSED)
        .expect("the build script compressed it in the same way")
}

/// Installs the runtime that this program carries.
///
/// # Errors
/// If the runtime cannot be written.
pub fn install() -> Result<(), Problem> {
    replay_core::runtime::install(embedded())?;
    Ok(())
}

/// Installs the runtime and checks the program that follows `--`. With `no_env`, traces of it contain
/// no variable's value. `followed` is the program meant if the command starts several. Prints a note for
/// each difference between the command and the target.
///
/// # Errors
/// If no program is given, it cannot be run under control, or the runtime cannot be written.
pub fn target(
    command: &[OsString],
    no_env: bool,
    followed: Option<&FollowedChild>,
    console: &Console,
) -> Result<Target, Problem> {
    misnamed::check(command)?;
    checked_target(command, no_env, followed, console)
}

/// [`target`] for a command that runs something.
fn checked_target(
    command: &[OsString],
    no_env: bool,
    followed: Option<&FollowedChild>,
    console: &Console,
) -> Result<Target, Problem> {
    let (program, args) = command
        .split_first()
        .ok_or_else(|| Problem::Usage("no program: name it after `--`".into()))?;
    replay_core::runtime::install(embedded())?;
    let mut target = Target::of_command(program, args.to_vec(), followed)?;
    for note in &target.notes {
        console.note(&format!("note: {}", clean(note)));
    }
    target.files = WorkingFiles::new(FilePolicy::Hold);
    if no_env {
        target.unrecorded = target.env.iter().map(|(name, _)| name.clone()).collect();
    }
    Ok(target)
}

/// [`target`] as these options say.
///
/// # Errors
/// See [`target`].
pub(super) fn of_options(
    command: &[OsString],
    options: &ProgramArgs,
    console: &Console,
) -> Result<Target, Problem> {
    let prepare = if options.is_listed { checked_target } else { target };
    prepare(command, options.no_env, options.follow_child.as_ref(), console)
}

/// Warns if standard input is a file: the target's standard input is empty, so that every execution reads
/// the same.
pub(super) fn warn_of_unused_input(console: &Console) {
    if std::fs::metadata("/dev/stdin").is_ok_and(|file| file.is_file()) {
        console.note(
            "note: the program's standard input is empty, the file on Heddle's standard input is not \
             used: pass the file as an argument of the program",
        );
    }
}
