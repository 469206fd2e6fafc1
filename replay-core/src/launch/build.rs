//! `heddle build`: runs the user's build command with compiler instrumentation of memory accesses.
//!
//! Compilers are found by name: a directory at the front of `PATH` contains a script for each,
//! which starts the real compiler with the flags for `-fsanitize=thread`. The directory is
//! permanent, because CMake stores the paths of the compilers that it found. The program is linked
//! to a library that has the sanitizer's symbol names but no code.

use super::runtime::{self, private_directory, write_whole};
use crate::Error;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable with the path of the log of compiler runs.
const LOG: &str = "HEDDLE_BUILD_LOG";

/// The command-line conventions of a compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Gcc,
    Clang,
    Rustc,
}

/// A compiler found in `PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Compiler {
    name: String,
    path: PathBuf,
    family: Family,
}

/// The result of a build, as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// How the command failed; none if it succeeded.
    pub failed: Option<String>,
    /// What was set up and what was compiled, one line each.
    pub lines: Vec<String>,
}

/// Runs a build command with compilers that instrument memory accesses. `headers` are files for the
/// include path; `names` are the functions that instrumented code calls.
///
/// # Errors
/// If there is no compiler, the command cannot be started, or the scripts cannot be written.
pub fn build(
    command: &[OsString],
    headers: &[(&str, &str)],
    names: &[&str],
) -> Result<Built, Error> {
    let Some((program, args)) = command.split_first() else {
        return Err(Error::Usage("no build command: write it after `--`".into()));
    };
    let place = runtime::path()?.with_file_name("build");
    let (bin, lib, include) = (place.join("bin"), place.join("lib"), place.join("include"));
    for directory in [&place, &bin, &lib, &include] {
        private_directory(directory).map_err(Error::system(format!(
            "cannot create the directory {}",
            directory.display()
        )))?;
    }
    let write = |path: PathBuf, text: &str, mode: u32| {
        let what = format!("cannot write {}", path.display());
        write_whole(&path, text.as_bytes(), mode).map_err(Error::system(what))
    };
    for (name, text) in headers {
        write(include.join(name), text, 0o600)?;
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let compilers = compilers(&search, &bin);
    let Some(linker) = compilers.iter().find(|one| one.family != Family::Rustc) else {
        return Err(Error::Usage(
            "no compiler: there is no cc, gcc, g++, clang or clang++ in PATH; install one, or put \
             its directory into PATH"
                .into(),
        ));
    };
    link_names(&linker.path, &lib, names)?;
    let rust = rust(&compilers);
    for compiler in &compilers {
        write(bin.join(&compiler.name), &script(compiler, &lib, rust.flags), 0o700)?;
    }
    let log = place.join(format!("log.{}", std::process::id()));
    write(log.clone(), "", 0o600)?;
    let mut child = Command::new(program);
    child.args(args).env("PATH", joined(&bin, &search)).env(LOG, &log);
    for name in ["CPATH", "LIBRARY_PATH"] {
        let directory = if name == "CPATH" { &include } else { &lib };
        child.env(name, joined(directory, &std::env::var_os(name).unwrap_or_default()));
    }
    // If CC or CXX is a path, replace it by the script of that name.
    for name in ["CC", "CXX"] {
        let given = std::env::var(name).ok().filter(|given| given.contains('/'));
        let file = given.as_deref().and_then(|given| Path::new(given).file_name());
        if let Some(file) = file.filter(|file| bin.join(file).exists()) {
            child.env(name, bin.join(file));
        }
    }
    let mut lines = vec![format!(
        "compilers in {}: {}",
        bin.display(),
        compilers.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
    )];
    if is_cargo(program) {
        for (name, value) in cargo(&compilers, &lib, &rust) {
            child.env(name, value);
        }
        lines.push(format!("cargo: {}", rust.words));
    }
    let status = child.status().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::Usage(format!("{}: command not found", program.to_string_lossy()))
        }
        _ => Error::System {
            what: format!("cannot start {}", program.to_string_lossy()),
            source: error,
        },
    })?;
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let _ = std::fs::remove_file(&log);
    lines.extend(log_lines(&text, is_cargo(program)));
    let failed =
        (!status.success()).then(|| format!("{} ended with {status}", program.to_string_lossy()));
    Ok(Built { failed, lines })
}

fn joined(first: &Path, rest: &OsStr) -> OsString {
    let mut all = first.as_os_str().to_owned();
    if !rest.is_empty() {
        all.push(":");
        all.push(rest);
    }
    all
}

fn is_cargo(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("cargo"))
}

/// Whether a command of this name may be a compiler: `gcc`, `clang++-14`, `x86_64-linux-gnu-g++`.
fn may_be_compiler(name: &str) -> bool {
    let name = name.strip_prefix("x86_64-linux-gnu-").unwrap_or(name);
    let (base, version) = name.rsplit_once('-').unwrap_or((name, ""));
    ["cc", "c++", "gcc", "g++", "clang", "clang++", "rustc"].contains(&base)
        && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// The compilers in a search path: the first of each name, as a shell would find it.
fn compilers(search: &OsStr, but: &Path) -> Vec<Compiler> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    for directory in std::env::split_paths(search).filter(|directory| directory != but) {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = entry.path();
            let runs = || {
                path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
            };
            if may_be_compiler(&name) && !found.contains_key(&name) && runs() {
                found.insert(name, path);
            }
        }
    }
    let known = |(name, path): (String, PathBuf)| {
        let family = family(&name, &path)?;
        Some(Compiler { name, path, family })
    };
    found.into_iter().filter_map(known).collect()
}

/// The family of a compiler, from its `--version` output.
fn family(name: &str, path: &Path) -> Option<Family> {
    if name.starts_with("rustc") {
        return Some(Family::Rustc);
    }
    let output = Command::new(path).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text {
        _ if !output.status.success() => None,
        text if text.contains("clang") => Some(Family::Clang),
        text if text.contains("Free Software Foundation") => Some(Family::Gcc),
        _ => None,
    }
}

/// How Rust code is instrumented with this toolchain.
struct Rust {
    flags: &'static str,
    /// Whether the standard library is rebuilt with instrumentation.
    whole: bool,
    words: &'static str,
}

/// Chooses the instrumentation for Rust. The precompiled standard library is not instrumented, so
/// its synchronisation is invisible: if all accesses of user code were instrumented, correct
/// programs would appear to race.
fn rust(compilers: &[Compiler]) -> Rust {
    let rustc = compilers.iter().find(|one| one.name == "rustc");
    let sysroot = rustc.and_then(|rustc| {
        let output = Command::new(&rustc.path).args(["--print", "sysroot"]).output().ok()?;
        Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
    });
    let source = sysroot.map(|root| root.join("lib/rustlib/src/rust/library/std/Cargo.toml"));
    rust_with(source.is_some_and(|source| source.exists()))
}

/// How Rust is compiled with or without the sources of its standard library.
fn rust_with(has_sources: bool) -> Rust {
    match has_sources {
        true => Rust {
            flags: "-Zsanitizer=thread -Zexternal-clangrt -Cunsafe-allow-abi-mismatch=sanitizer",
            whole: true,
            words: "every access is instrumented, including the standard library; programs are in \
                    target/x86_64-unknown-linux-gnu",
        },
        false => Rust {
            flags: "-Cpasses=tsan",
            whole: false,
            words: "atomics are instrumented by the compiler, other accesses by probes; to detect \
                    races too, run `rustup component add rust-src`; programs are in \
                    target/x86_64-unknown-linux-gnu",
        },
    }
}

/// The environment for cargo. With an explicit target, cargo does not apply these flags to build
/// scripts and macros.
fn cargo(compilers: &[Compiler], lib: &Path, rust: &Rust) -> Vec<(&'static str, OsString)> {
    const SEPARATOR: &str = "\u{1f}";
    let given = |name: &str| std::env::var(name).ok();
    let mut flags: Vec<String> = match (given("CARGO_ENCODED_RUSTFLAGS"), given("RUSTFLAGS")) {
        (Some(encoded), _) => encoded.split(SEPARATOR).map(ToOwned::to_owned).collect(),
        (None, Some(plain)) => plain.split_whitespace().map(ToOwned::to_owned).collect(),
        (None, None) => Vec::new(),
    };
    flags.retain(|flag| !flag.is_empty());
    flags.extend(rust.flags.split(' ').map(ToOwned::to_owned));
    flags.extend(link(lib).iter().map(|argument| format!("-Clink-arg={argument}")));
    let mut all = vec![
        ("CARGO_ENCODED_RUSTFLAGS", OsString::from(flags.join(SEPARATOR))),
        ("CARGO_BUILD_TARGET", "x86_64-unknown-linux-gnu".into()),
    ];
    // Cargo gets the real rustc; the script is for direct calls of rustc.
    if let Some(rustc) = compilers.iter().find(|one| one.name == "rustc") {
        all.push(("RUSTC", rustc.path.clone().into()));
    }
    if rust.whole {
        all.push(("RUSTC_BOOTSTRAP", "1".into()));
        all.push(("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort".into()));
    }
    all
}

/// The linker arguments for the library of names.
fn link(lib: &Path) -> [String; 3] {
    [format!("-L{}", lib.display()), "-Wl,--no-as-needed".into(), "-l:libtsan.so.2".into()]
}

/// The script that replaces a compiler.
fn script(compiler: &Compiler, lib: &Path, rust: &str) -> String {
    let real = quoted(&compiler.path);
    let link = link(lib);
    let (flags, at_link) = match compiler.family {
        Family::Gcc => ("-g -fsanitize=thread -Wno-tsan".to_owned(), String::new()),
        Family::Clang => (
            "-g -fsanitize=thread -fno-sanitize-link-runtime -Wno-unused-command-line-argument"
                .into(),
            link.iter().map(quoted).collect::<Vec<_>>().join(" "),
        ),
        Family::Rustc => {
            let link = link.iter().map(|one| quoted(format!("-Clink-arg={one}")));
            (format!("-g {rust} {}", link.collect::<Vec<_>>().join(" ")), String::new())
        }
    };
    // gcc 11 does not know -Wno-tsan, but ignores unknown -Wno- options.
    let bootstrap = if rust.contains("-Z") && compiler.family == Family::Rustc {
        "RUSTC_BOOTSTRAP=1; export RUSTC_BOOTSTRAP\n"
    } else {
        ""
    };
    let name = &compiler.name;
    format!(
        r#"#!/bin/sh
# Written by `heddle build`: {name} with instrumentation of memory accesses.
what=link
quiet=
for argument; do
    case $argument in
    -c|-S|--emit=*|--crate-type=lib|--crate-type=rlib) test $what = link && what=compile ;;
    -v|-V|-vV) test $# = 1 && quiet=1 ;;
    -E|-M|-MM|-###|--version|--help|-dump*|-print*|--print*|-) quiet=1 ;;
    -static|-static-pie|-static-libtsan|-static-libsan) what="$what:$argument" ;;
    esac
done
test -z "$quiet" && test -n "${LOG}" && echo "{name} $what" >>"${LOG}"
{bootstrap}test -n "$quiet" && exec {real} "$@"
case $what in
link*) exec {real} "$@" {flags} {at_link} ;;
*) exec {real} "$@" {flags} ;;
esac
"#
    )
}

fn quoted(text: impl AsRef<OsStr>) -> String {
    format!("'{}'", text.as_ref().to_string_lossy().replace('\'', r"'\''"))
}

/// Links a library that exports the sanitizer's names and contains no code.
fn link_names(linker: &Path, lib: &Path, names: &[&str]) -> Result<(), Error> {
    let mut source = String::from(".text\n");
    for name in names {
        source.push_str(&format!(".globl {name}\n.type {name},@function\n{name}: ret\n"));
    }
    source.push_str(".section .note.GNU-stack,\"\",@progbits\n");
    let (from, to) = (lib.join("names.s"), lib.join("libtsan.so.2"));
    if std::fs::read_to_string(&from).is_ok_and(|known| known == source) && to.exists() {
        return Ok(());
    }
    let fresh = lib.join(format!(".libtsan.{}", std::process::id()));
    let what = || format!("cannot write {}", from.display());
    write_whole(&from, source.as_bytes(), 0o600).map_err(Error::system(what()))?;
    let output = Command::new(linker)
        .args(["-shared", "-nostdlib", "-Wl,-soname,libtsan.so.2", "-o"])
        .args([&fresh, &from])
        .stdin(Stdio::null())
        .output()
        .map_err(Error::system(format!("cannot start {}", linker.display())))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        let _ = std::fs::remove_file(&from);
        return Err(Error::Usage(format!("{} cannot link a library: {said}", linker.display())));
    }
    std::fs::rename(&fresh, &to).map_err(Error::system(what()))
}

/// "once", "twice", "3 times".
fn times_text(times: u64) -> String {
    match times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        times => format!("{times} times"),
    }
}

/// Summarises the log of compiler runs.
fn log_lines(log: &str, is_cargo: bool) -> Vec<String> {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut fixed: Vec<String> = Vec::new();
    for (name, what) in log.lines().filter_map(|line| line.split_once(' ')) {
        let (what, option) = what.split_once(':').unwrap_or((what, ""));
        *counts.entry((name, what)).or_default() += 1;
        if !option.is_empty() {
            fixed.push(format!(
                "{name} was called with {option}: Heddle needs dynamically linked programs that \
                 use the sanitizer's shared library; remove the option"
            ));
        }
    }
    let mut lines: Vec<String> = counts
        .iter()
        .map(|((name, what), times)| match *what {
            "compile" => format!("{name}: compiled {} with instrumentation", times_text(*times)),
            _ => format!("{name}: linked {}", times_text(*times)),
        })
        .collect();
    if lines.is_empty() && !is_cargo {
        lines.push(
            "nothing was compiled: either everything is up to date (clean it first), or the build \
             uses fixed paths of compilers (a CMake directory that was configured earlier: \
             configure a new one)"
                .to_owned(),
        );
    }
    fixed.sort();
    fixed.dedup();
    lines.extend(fixed);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_known_by_their_names() {
        for name in ["cc", "gcc-12", "g++", "clang++-14", "x86_64-linux-gnu-gcc-12", "rustc"] {
            assert!(may_be_compiler(name), "{name}");
        }
        for name in ["ccache", "gcc-ar", "gcc-nm-12", "clang-format", "rustc-x", "gdb", "clangd"] {
            assert!(!may_be_compiler(name), "{name}");
        }
    }

    #[test]
    fn compiler_runs_are_counted_and_static_linking_is_reported() {
        let lines = log_lines("gcc compile\ngcc compile\ngcc compile\ngcc link:-static\n", false);
        assert_eq!(lines[0], "gcc: compiled 3 times with instrumentation");
        assert_eq!(lines[1], "gcc: linked once");
        assert!(lines[2].starts_with("gcc was called with -static: "), "{lines:?}");
        assert!(log_lines("", false)[0].starts_with("nothing was compiled"));
        assert!(log_lines("", true).is_empty());
    }

    #[test]
    fn a_script_quotes_the_path_of_the_compiler() {
        let compiler =
            Compiler { name: "gcc".into(), path: "/opt/it's/gcc".into(), family: Family::Gcc };
        let text = script(&compiler, Path::new("/lib"), "");
        assert!(text.contains(r"exec '/opt/it'\''s/gcc' "), "{text}");
    }

    #[test]
    fn each_compiler_has_its_options() {
        let of = |family| {
            let compiler = Compiler { name: "cc".into(), path: "/bin/cc".into(), family };
            script(&compiler, Path::new("/lib"), "-Copt")
        };
        for (family, options) in [
            (Family::Gcc, "-g -fsanitize=thread -Wno-tsan"),
            (
                Family::Clang,
                "-g -fsanitize=thread -fno-sanitize-link-runtime -Wno-unused-command-line-argument",
            ),
            (Family::Rustc, "-g -Copt '-Clink-arg=-L/lib'"),
        ] {
            let text = of(family);
            assert!(text.contains(&format!("exec '/bin/cc' \"$@\" {options}")), "{text}");
        }
    }

    #[test]
    fn what_is_instrumented_in_rust_depends_on_the_sources_of_its_library() {
        assert_eq!(
            rust_with(true).words,
            "every access is instrumented, including the standard library; programs are in \
             target/x86_64-unknown-linux-gnu"
        );
        assert_eq!(
            rust_with(false).words,
            "atomics are instrumented by the compiler, other accesses by probes; to detect races too, \
             run `rustup component add rust-src`; programs are in target/x86_64-unknown-linux-gnu"
        );
    }

    #[test]
    fn a_build_without_a_command_or_a_linker_is_refused() {
        let none = build(&[], &[], &[]).map(drop).expect_err("no command").to_string();
        assert_eq!(none, "no build command: write it after `--`");
        let directory = tempfile::tempdir().expect("a directory");
        let link = |linker: &str| {
            let linker = Path::new(linker);
            link_names(linker, directory.path(), &["f"]).expect_err("no linker")
        };
        let missing = link("/no/such/cc").to_string();
        assert!(missing.starts_with("cannot start /no/such/cc: "), "{missing}");
        assert_eq!(link("/bin/false").to_string(), "/bin/false cannot link a library: ");
    }
}
