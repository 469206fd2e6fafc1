//! Builds every sort of file that users pass by mistake, and checks the message for each.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// A temporary directory of one test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let path =
            std::env::temp_dir().join(format!("heddle-preflight-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str, data: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, data).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Compiles a minimal program or library with these flags.
    fn gcc(&self, name: &str, flags: &[&str]) -> PathBuf {
        let source = self.file("main.c", "int main(void) { return 0; }", 0o644);
        let path = self.0.join(name);
        let done = Command::new("gcc").args(flags).arg(source).arg("-o").arg(&path).status();
        assert!(done.unwrap().success(), "gcc {flags:?}");
        path
    }

    /// A copy of a program with some bytes changed.
    fn patched(&self, from: &Path, name: &str, patch: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let mut data = std::fs::read(from).unwrap();
        patch(&mut data);
        self.file(name, data, 0o755)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the temporary directory is harmless.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn accepted(path: &Path) -> Target {
    Target::new(path.as_os_str(), Vec::new()).unwrap_or_else(|error| panic!("{error}"))
}

/// Expects status 3 and a message of one line that contains each of these texts.
fn refused(path: impl AsRef<OsStr>, expected: &[&str]) {
    let path = path.as_ref();
    let error = match Target::new(path, Vec::new()) {
        Ok(_) => panic!("{} was accepted", path.display()),
        Err(error) => error,
    };
    assert_eq!(error.exit_status(), 3);
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line:?} has more than one line");
    for part in expected {
        assert!(line.contains(part), "{line:?} does not say {part:?}");
    }
}

/// Overwrites a string in an image; the rest of its space is filled with zero bytes.
fn replace(data: &mut [u8], from: &str, to: &str) {
    let at = data.windows(from.len()).position(|bytes| bytes == from.as_bytes()).unwrap();
    data[at..at + from.len()].fill(0);
    data[at..at + to.len()].copy_from_slice(to.as_bytes());
}

#[test]
fn a_native_program_is_described() {
    let scratch = Scratch::new("native");
    let path = scratch.gcc("prog", &[]);
    let target = Target::new(path.as_os_str(), vec!["one".into()]).unwrap();
    assert_eq!(target.program, path);
    assert_eq!(target.args, ["one"]);
    assert_eq!(target.cwd, std::env::current_dir().unwrap());
    assert_eq!(target.env.len(), std::env::vars_os().count());
    assert_eq!(target.build_id.len(), 40);
    accepted(&scratch.gcc("fixed", &["-no-pie"]));
    accepted(&scratch.gcc("stripped", &["-s"]));
    // Without a build id, the digest identifies the file; it cannot be mistaken for a build id.
    let digest = accepted(&scratch.gcc("anonymous", &["-Wl,--build-id=none"])).build_id;
    assert!(digest.starts_with("file-") && digest.len() == 45, "{digest}");
}

#[test]
fn names_are_looked_up_as_execvp_does() {
    let target = Target::new(OsStr::new("ls"), Vec::new()).unwrap();
    assert!(target.program.is_absolute() && target.program.ends_with("ls"));
    assert_eq!(target.name, "ls");
    refused("heddle-has-no-such-program", &["in no directory of PATH"]);
    refused("", &["no program was given"]);

    let scratch = Scratch::new("lookup");
    let good = scratch.gcc("prog", &[]);
    let other = Scratch::new("lookup-other");
    other.file("prog", "", 0o644);
    std::fs::create_dir(scratch.0.join("sub")).unwrap();
    // A directory, a file without permission and a missing directory are skipped.
    let search =
        std::env::join_paths([Path::new("/nowhere"), &scratch.0.join("sub"), &other.0, &scratch.0]);
    let found = lookup::in_path(OsStr::new("prog"), &search.unwrap()).unwrap();
    assert_eq!(found, good);
    let line = lookup::in_path(OsStr::new("prog"), other.0.as_os_str()).unwrap_err();
    assert!(line.contains("no permission"), "{line}");
}

#[test]
fn files_that_are_not_programs_are_refused() {
    let scratch = Scratch::new("no-program");
    refused(scratch.0.join("missing"), &["does not exist"]);
    refused(&scratch.0, &["is a directory"]);
    refused("/dev/null", &["not a regular file"]);
    refused(scratch.file("plain", "\x7fELF", 0o644), &["no permission", "chmod +x"]);
    refused(scratch.file("empty", "", 0o755), &["is empty"]);
    refused(scratch.file("text", "echo hello\n", 0o755), &["is text"]);
    refused(scratch.file("noise", [1u8, 2, 3, 4, 0, 9], 0o755), &["is not a program"]);
    refused(scratch.file("win.exe", "MZ\x00\x03", 0o755), &["Windows"]);
    refused(scratch.file("two\nlines", "", 0o755), &["two\\nlines"]);
    let link = scratch.0.join("link");
    std::os::unix::fs::symlink("gone", &link).unwrap();
    refused(&link, &["broken symbolic link to gone"]);
    let circle = scratch.0.join("circle");
    std::os::unix::fs::symlink("circle", &circle).unwrap();
    refused(&circle, &["symbolic links"]);
}

#[test]
fn scripts_name_their_interpreter() {
    let scratch = Scratch::new("scripts");
    refused(scratch.file("sh", "#!/bin/sh\necho\n", 0o755), &["script for /bin/sh", "native"]);
    refused(scratch.file("env", "#!/usr/bin/env -S sh -e\n", 0o755), &["script for", "/sh"]);
    let other = scratch.gcc("interpreter", &[]);
    let line = format!("#!{} -x\n", other.display());
    let itself = format!(
        "/other is a script for {0}: give the native program that it starts, or, to explore the threads \
         of the interpreter itself, {0} ",
        other.display()
    );
    refused(scratch.file("other", line, 0o755), &[&itself]);
    let shell = "/shell is a script for /bin/sh: give the native program that it starts";
    refused(scratch.file("shell", "#!/bin/sh\n", 0o755), &[shell]);
    refused(
        scratch.file("gone", "#! /no/such thing\n", 0o755),
        &["/gone is a script for /no/such, which does not exist: give a native program"],
    );
    refused(scratch.file("none", "#!\n", 0o755), &["names no interpreter"]);
    std::fs::create_dir(scratch.0.join(".libs")).unwrap();
    scratch.file(".libs/wrapped", "", 0o755);
    refused(
        scratch.file("wrapped", "#!/bin/sh\n", 0o755),
        &["/wrapped is a script for /bin/sh: run the program behind it, ", ".libs/wrapped"],
    );
}

#[test]
fn programs_that_ignore_preloading_are_refused() {
    let scratch = Scratch::new("linking");
    refused(scratch.gcc("static", &["-static"]), &["statically linked:", "without -static"]);
    refused(scratch.gcc("spie", &["-static-pie"]), &["static-pie"]);
    refused(scratch.gcc("libx.so", &["-shared", "-fPIC"]), &["shared library"]);
    let named = scratch.gcc("liby.so", &["-shared", "-fPIC", "-Wl,-soname,liby.so.1"]);
    refused(named, &["shared library"]);
    let object = scratch.gcc("x.o", &["-c"]);
    std::fs::set_permissions(&object, std::fs::Permissions::from_mode(0o755)).unwrap();
    refused(object, &["object file"]);

    let good = scratch.gcc("good", &[]);
    let linker = "/lib64/ld-linux-x86-64.so.2";
    let musl =
        scratch.patched(&good, "musl", |data| replace(data, linker, "/lib/ld-musl-x86_64.so.1"));
    refused(musl, &["musl", "glibc"]);
    let homeless =
        scratch.patched(&good, "homeless", |data| replace(data, linker, "/lib64/ld-gone.so.2"));
    refused(homeless, &["/lib64/ld-gone.so.2", "does not exist"]);

    let go = scratch.0.join("go");
    let note = scratch.file("note", "\u{ff} Go buildinf:", 0o644);
    let done = Command::new("objcopy")
        .arg("--add-section")
        .arg(format!(".go.buildinfo={}", note.display()))
        .args([&good, &go])
        .status();
    assert!(done.unwrap().success());
    refused(go, &["Go program"]);

    let debug = scratch.0.join("good.debug");
    let done = Command::new("objcopy").arg("--only-keep-debug").args([&good, &debug]).status();
    assert!(done.unwrap().success());
    std::fs::set_permissions(&debug, std::fs::Permissions::from_mode(0o755)).unwrap();
    refused(debug, &["only debug information"]);
}

#[test]
fn other_machines_and_damaged_files_are_refused() {
    let scratch = Scratch::new("machines");
    let good = scratch.gcc("good", &[]);
    let header = |name, class: u8, encoding: u8, kind: u16, machine: u16| {
        scratch.patched(&good, name, |data| {
            (data[4], data[5]) = (class, encoding);
            let bytes = |value: u16| match encoding {
                2 => value.to_be_bytes(),
                _ => value.to_le_bytes(),
            };
            data[16..18].copy_from_slice(&bytes(kind));
            data[18..20].copy_from_slice(&bytes(machine));
        })
    };
    refused(header("i386", 1, 1, 3, 3), &["32-bit", "x86-64"]);
    refused(header("x32", 1, 1, 3, 62), &["x32"]);
    refused(header("arm", 2, 1, 3, 183), &["aarch64"]);
    refused(header("s390", 2, 2, 3, 22), &["s390x"]);
    refused(header("odd", 2, 1, 3, 4711), &["machine 4711"]);
    refused(header("core", 2, 1, 4, 62), &["core dump"]);
    refused(header("type", 2, 1, 99, 62), &["ELF type"]);
    refused(scratch.file("magic", "\x7fELF", 0o755), &["truncated"]);
    // A file truncated anywhere is reported as truncated, without a panic.
    let whole = std::fs::read(&good).unwrap();
    for len in (4..whole.len()).step_by(97) {
        refused(scratch.file("cut", &whole[..len], 0o755), &["truncated"]);
    }
}

#[test]
fn privileged_programs_are_refused() {
    let scratch = Scratch::new("privileges");
    let path = scratch.gcc("prog", &[]);
    let mode = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o4755);
    refused(&path, &["setuid", "copy"]);
    mode(0o2755);
    refused(&path, &["setgid", "copy"]);
    mode(0o2745);
    accepted(&path);
    mode(0o755);
    // Only the superuser can set file capabilities, and not on every file system.
    let given = Command::new("setcap").arg("cap_net_raw+ep").arg(&path).output();
    if given.is_ok_and(|output| output.status.success()) {
        refused(&path, &["has file capabilities (see getcap): ", "copy"]);
    }
}

#[test]
fn notes_on_programs_that_a_command_starts() {
    let command = ["./bank", "3"].map(str::to_owned);
    assert_eq!(
        child_note("run.sh", &command),
        "run.sh starts the program with threads: ./bank 3 (--follow-child chooses another)"
    );
    assert_eq!(
        variable_set(OsStr::new("OMP_WAIT_POLICY"), OsStr::new("passive")),
        "OMP_WAIT_POLICY=passive is set for the program, since idle threads of OpenMP spin otherwise: set \
         it to choose another value"
    );
    let started = |program: &str| wrapper::Started {
        program: program.into(),
        words: Vec::new(),
        env: Vec::new(),
        cwd: "/".into(),
    };
    assert_eq!(
        no_such_child(OsStr::new("run.sh"), &[started("/b/bank"), started("/b/queue")]),
        "run.sh starts no such program with threads; give --follow-child one of these numbers or names: 1 \
         /b/bank, 2 /b/queue"
    );
}
