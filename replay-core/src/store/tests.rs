//! Saves and loads traces in a temporary directory.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicU32, Ordering};
use traces::{
    Execution, Failure, FailureKind, Header, Module, Operation, Site, Step, TaskId, TaskRecord,
};

const KEY: Key = [7; 32];

/// A temporary directory that is removed when the test ends.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new() -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("heddle-store-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A trace with this number of steps, and a failure with this signature, if any.
fn trace(signature: Option<&str>, steps: usize) -> Trace {
    let step = Step {
        task: TaskId(0),
        operation: Operation::Yield,
        object: None,
        site: Site { module: 0, offset: 0 },
        value: 0,
    };
    Trace {
        header: Header { program: "/bin/true".into(), ..Default::default() },
        execution: Execution {
            tasks: vec![TaskRecord::default()],
            modules: vec![Module { path: "/bin/true".into(), build_id: String::new() }],
            steps: vec![step; steps],
            ..Default::default()
        },
        failure: signature.map(|signature| Failure {
            kind: FailureKind::Deadlock,
            signature: signature.into(),
            message: String::new(),
            task: None,
            site: None,
            place: String::new(),
            waits: Vec::new(),
            stacks: Vec::new(),
            past: Vec::new(),
        }),
        output: b"out".to_vec(),
    }
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn a_saved_trace_is_loaded_with_its_signature() {
    let scratch = Scratch::new();
    let dir = scratch.0.join("new/heddle-out");
    for (key, reader, ours) in [
        (Some(KEY), Some(KEY), true),
        (Some(KEY), Some([8; 32]), false),
        (Some(KEY), None, false),
        (None, Some(KEY), false),
        (None, Some([0; 32]), false),
        (None, None, false),
    ] {
        let path = save_with(&trace(Some("s"), 3), &dir, "deadlock", key.as_ref()).unwrap();
        let loaded = load_with(&path, reader.as_ref()).unwrap();
        assert_eq!(loaded, Loaded { trace: trace(Some("s"), 3), ours });
    }
}

#[test]
fn each_failure_has_one_file() {
    let scratch = Scratch::new();
    let save = |trace: &Trace| save_with(trace, &scratch.0, "deadlock", None).unwrap();
    let first = save(&trace(Some("a"), 1));
    let digits = digest(&trace(Some("a"), 1));
    assert_eq!(name(&first), format!("deadlock-{}.heddle", &digits[..4]));
    assert_eq!(save(&trace(Some("a"), 2)), first);
    assert_eq!(load_with(&first, None).unwrap().trace, trace(Some("a"), 2));
    assert_ne!(save(&trace(Some("b"), 1)), first);
    // Without a failure, the schedule identifies the trace.
    let quiet = save(&trace(None, 1));
    assert_eq!(save(&trace(None, 1)), quiet);
    assert_ne!(save(&trace(None, 2)), quiet);
    assert_eq!(scratch.names().len(), 4, "{:?}", scratch.names());
}

#[test]
fn a_file_of_another_failure_is_not_replaced() {
    let digits = digest(&trace(Some("a"), 1));
    let other = file::encode(&trace(Some("b"), 1), None);
    let damaged = file::encode(&trace(Some("a"), 1), None)[..40].to_vec();
    for taken in [other, damaged, b"notes".to_vec(), Vec::new()] {
        let scratch = Scratch::new();
        let path = scratch.0.join(format!("deadlock-{}.heddle", &digits[..4]));
        fs::write(&path, &taken).unwrap();
        for _ in 0..2 {
            let saved = save_with(&trace(Some("a"), 1), &scratch.0, "deadlock", None).unwrap();
            assert_eq!(name(&saved), format!("deadlock-{}.heddle", &digits[..5]));
        }
        assert_eq!(fs::read(&path).unwrap(), taken);
        assert_eq!(scratch.names().len(), 2);
    }
}

#[test]
fn a_dangling_link_or_a_directory_is_not_replaced() {
    let digits = digest(&trace(Some("a"), 1));
    let scratch = Scratch::new();
    let at = |len: usize| scratch.0.join(format!("deadlock-{}.heddle", &digits[..len]));
    symlink("nowhere", at(4)).unwrap();
    fs::create_dir(at(5)).unwrap();
    let saved = save_with(&trace(Some("a"), 1), &scratch.0, "deadlock", None).unwrap();
    assert_eq!(saved, at(6));
    assert_eq!(scratch.names().len(), 3);
}

#[test]
fn a_failed_save_leaves_no_file() {
    let scratch = Scratch::new();
    let mut wrong = trace(Some("a"), 1);
    wrong.execution.steps[0].task = TaskId(9);
    let error = save_with(&wrong, &scratch.0, "deadlock", None).unwrap_err().to_string();
    assert!(error.contains("step 0 names no task"), "{error}");
    assert_eq!(scratch.names(), [""; 0]);

    fs::write(scratch.0.join("file"), "").unwrap();
    let into = scratch.0.join("file");
    let error = save_with(&trace(None, 1), &into, "run", None).unwrap_err().to_string();
    assert!(error.contains("cannot write a trace into"), "{error}");
    assert_eq!(scratch.names(), ["file"]);
}

#[test]
fn an_invalid_file_is_reported_in_one_line() {
    let scratch = Scratch::new();
    let at = |name: &str| scratch.0.join(name);
    let whole = file::encode(&trace(Some("a"), 9), None);
    fs::write(at("empty"), "").unwrap();
    fs::write(at("text"), "hello").unwrap();
    fs::write(at("half"), &whole[..whole.len() / 2]).unwrap();
    let mut damaged = whole.clone();
    damaged[40] ^= 1;
    fs::write(at("damaged"), damaged).unwrap();
    let mut newer = whole;
    newer[8] = 9;
    fs::write(at("newer"), newer).unwrap();
    // A sparse file takes no space on the disk.
    File::create(at("huge")).unwrap().set_len(MAX_FILE + 1).unwrap();
    fs::create_dir(at("directory")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::write(at("forbidden"), "").unwrap();
    fs::set_permissions(at("forbidden"), fs::Permissions::from_mode(0o000)).unwrap();

    let mut cases = vec![
        ("empty", "the file is empty"),
        ("text", "not a Heddle trace"),
        ("half", "cut short"),
        ("damaged", "checksum"),
        ("newer", "update heddle"),
        ("huge", "too large"),
        ("directory", "is a directory"),
        ("dangling", "no such file"),
        ("missing", "no such file"),
        ("pipe", "not a regular file"),
    ];
    // Permissions do not apply to root.
    if File::open(at("forbidden")).is_err() {
        cases.push((
            "forbidden",
            "it cannot be read: permission denied; ask its owner to allow it (chmod)",
        ));
    }
    for (name, expected) in cases {
        let error = load_with(&at(name), Some(&KEY)).unwrap_err();
        assert_eq!(error.exit_status(), 2, "{name}");
        let line = error.to_string();
        assert!(line.contains(expected), "{name}: {line:?} lacks {expected:?}");
        assert!(line.starts_with(at(name).to_str().unwrap()), "{line}");
        assert!(!line.contains('\n'), "{line}");
    }
}

#[test]
fn a_file_of_another_kind_is_not_replaced() {
    let scratch = Scratch::new();
    let path = scratch.0.join("notes.txt");
    fs::write(&path, "mine").unwrap();
    let message = |error: Error| error.to_string();
    assert_eq!(
        message(save_as(&trace(Some("a"), 1), &path).unwrap_err()),
        format!(
            "{}: a file of this name exists that is not a trace; choose another name",
            path.display()
        )
    );
    assert_eq!(
        message(save_new(&trace(Some("a"), 1), &path).unwrap_err()),
        format!(
            "{}: a file of this name exists and is not replaced; choose another name",
            path.display()
        )
    );
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    // A new directory keeps its traces out of version control.
    let new = scratch.0.join("out");
    save_with(&trace(None, 1), &new, "run", None).unwrap();
    assert_eq!(fs::read_to_string(new.join(".gitignore")).unwrap(), "# Created by Heddle.\n*\n");
}
