//! Tests of the binary's exit statuses, streams and errors. They run no program under control.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use traces::{EnabledChange, Header, Module, Operation, Site, Step, TaskId, TaskRecord, Trace};

/// A temporary directory for each test, which is also the home directory.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("heddle-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a scratch directory");
        Scratch(path)
    }

    fn heddle(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null());
        for name in ["XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME", "COLUMNS", "NO_COLOR"] {
            command.env_remove(name);
        }
        command.env("HOME", &self.0);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.heddle(args).output().expect("heddle starts")
    }

    /// A trace of a program that another user recorded.
    fn foreign_trace(&self, program: &str, build_id: &str) -> String {
        let trace = sample(program, build_id, &self.0);
        let bytes = traces::file::encode(&trace, None);
        fs::write(self.0.join("foreign.heddle"), bytes).expect("written");
        "foreign.heddle".to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sample(program: &str, build_id: &str, cwd: &Path) -> Trace {
    let site = Site { module: 0, offset: 0x1140 };
    let step = |operation| Step { task: TaskId::MAIN, operation, object: None, site, value: 0 };
    let mut trace = Trace {
        header: Header {
            program: program.to_owned(),
            args: vec![b"mark".to_vec()],
            build_id: build_id.to_owned(),
            cwd: cwd.display().to_string(),
            ..Header::default()
        },
        ..Trace::default()
    };
    let execution = &mut trace.execution;
    execution.tasks.push(TaskRecord { function: "main".into(), ..TaskRecord::default() });
    execution.modules.push(Module { path: program.to_owned(), build_id: build_id.to_owned() });
    execution.steps = vec![step(Operation::Yield), step(Operation::Exit)];
    execution.enabled.push(EnabledChange { step: 0, task: TaskId::MAIN, enabled: true });
    trace
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn check_refusal(output: &Output, status: i32, expected: &str) {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert_eq!(stdout(output), "", "nothing on standard output");
    assert!(stderr(output).contains(expected), "{:?} lacks {expected:?}", stderr(output));
}

#[test]
fn without_arguments_the_help_is_printed() {
    let scratch = Scratch::new("help");
    let output = scratch.run(&[]);
    check_refusal(&output, 2, "Usage: heddle");
    assert!(stderr(&output).lines().count() < 40);
    let asked = scratch.run(&["--help"]);
    assert_eq!(asked.status.code(), Some(0));
    assert!(stdout(&asked).contains("explore"));
    assert_eq!(scratch.run(&["--version"]).status.code(), Some(0));
}

#[test]
fn wrong_usage_is_2() {
    let scratch = Scratch::new("usage");
    check_refusal(&scratch.run(&["explore"]), 2, "PROGRAM");
    check_refusal(&scratch.run(&["explore", "--workers", "0", "--", "ls"]), 2, "at least 1 worker");
    check_refusal(&scratch.run(&["explore", "--bound", "1", "--", "ls"]), 2, "--strategy icb");
    check_refusal(&scratch.run(&["replay", "none.heddle"]), 2, "no such file");
    check_refusal(&scratch.run(&["show", "."]), 2, "directory");
    fs::write(scratch.0.join("junk"), "junk").expect("written");
    check_refusal(&scratch.run(&["show", "junk"]), 2, "not a Heddle trace");
}

#[test]
fn configuration_files_are_found_and_checked() {
    let scratch = Scratch::new("settings");
    let keys = scratch.0.join(".config/heddle/ui.toml");
    let run = |args: &[&str]| {
        let output = scratch.heddle(args).env_remove("XDG_CONFIG_HOME").output();
        let output = output.expect("heddle starts");
        (output.status.code(), stdout(&output))
    };
    let (status, text) = run(&["config"]);
    assert_eq!((status, text.matches("absent").count()), (Some(0), 2), "{text}");
    fs::create_dir_all(keys.parent().expect("a directory")).expect("made");
    fs::write(&keys, "theme = \"light\"\n[keys]\nfly = [\"x\"]\n").expect("written");
    fs::write(scratch.0.join("heddle.toml"), "speed = 3\n").expect("written");
    let (status, text) = run(&["config"]);
    assert_eq!(status, Some(2), "{text}");
    for wrong in ["heddle.toml:1:1: `speed = 3`", "ui.toml:3:1: there is no action `fly`"] {
        assert!(text.contains(wrong), "{text}");
    }
    fs::write(&keys, "theme = \"light\"\n").expect("written");
    fs::write(scratch.0.join("heddle.toml"), "seed = 3\n").expect("written");
    let (status, text) = run(&["config"]);
    assert_eq!((status, text.matches("  valid").count()), (Some(0), 2), "{text}");
    let (status, text) = run(&["config", "--paths"]);
    let paths = ["heddle.toml", ".config/heddle/ui.toml", ".local/state/heddle/ui", "runtime"];
    assert!(status == Some(0) && paths.iter().all(|path| text.contains(path)), "{text}");
}

#[test]
fn completions_and_manual_contain_every_verb() {
    let scratch = Scratch::new("shells");
    let bash = stdout(&scratch.run(&["completions", "bash"]));
    let man = stdout(&scratch.run(&["man"]));
    for verb in ["explore", "ui", "replay", "completions"] {
        assert!(bash.contains(&format!("heddle__{verb}")) || bash.contains(verb), "{verb}");
        assert!(man.contains(&format!(".SH \"heddle {verb}\"")), "{verb} in {man}");
    }
    assert!(bash.contains("--max-executions") && man.contains("max\\-executions"), "{man}");
    check_refusal(&scratch.run(&["completions", "tcl"]), 2, "possible values");
}

#[test]
fn the_explorer_refuses_program_options_for_a_trace() {
    let scratch = Scratch::new("recorded");
    check_refusal(&scratch.run(&["ui", "--max-steps", "0", "--", "ls"]), 2, "--max-steps");
    check_refusal(&scratch.run(&["ui", "--strategy", "dfs", "--", "ls"]), 2, "--strategy");
    let other = scratch.run(&["ui", "--points", "api", "t.heddle"]);
    check_refusal(&other, 2, "--points applies to a program");
    check_refusal(&scratch.run(&["ui", "--points", "api", "--", "ls"]), 2, "needs a terminal");
}

#[test]
fn a_program_that_cannot_be_run_is_3() {
    let scratch = Scratch::new("target");
    check_refusal(&scratch.run(&["explore", "--", "no-such-program"]), 3, "no-such-program");
    let output = scratch.run(&["explore", "--json", "--", "no-such-program"]);
    assert_eq!(output.status.code(), Some(3));
    let object: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("one object");
    assert_eq!(object["heddle"], 1);
    assert_eq!(object["verdict"], "error");
    assert!(object["reason"].as_str().expect("a text").contains("no-such-program"));
}

#[test]
fn heddle_toml_is_checked() {
    let scratch = Scratch::new("config");
    fs::write(scratch.0.join("heddle.toml"), "seed = 1\nspeed = 3\n").expect("written");
    check_refusal(&scratch.run(&["explore", "--", "ls"]), 2, "heddle.toml:2:1: `speed = 3`");
    fs::write(scratch.0.join("heddle.toml"), "max-steps = 'many'\n").expect("written");
    check_refusal(&scratch.run(&["run", "--", "ls"]), 2, "heddle.toml:1");
}

#[test]
fn a_trace_of_another_user_needs_consent() {
    let scratch = Scratch::new("foreign");
    // The trace names a program that would create a file.
    let trace = scratch.foreign_trace("/usr/bin/touch", "00");
    let output = scratch.run(&["replay", &trace]);
    check_refusal(&output, 2, "pass --yes");
    assert_eq!(stderr(&output).lines().count(), 1);
    assert!(!scratch.0.join("mark").exists());
}

#[test]
fn a_changed_program_is_refused() {
    let scratch = Scratch::new("changed");
    let trace = scratch.foreign_trace("/usr/bin/touch", "00");
    let program = env!("CARGO_BIN_EXE_heddle");
    check_refusal(&scratch.run(&["replay", &trace, "--", program]), 2, "not the recorded build");
}

#[test]
fn a_trace_is_shown() {
    let scratch = Scratch::new("show");
    let trace = scratch.foreign_trace("/bin/true", "00");
    let output = scratch.run(&["show", &trace]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = stdout(&output);
    assert!(text.contains("T0 main") && text.contains("y yield"), "{text}");
    assert!(text.contains("heddle replay foreign.heddle"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours into a pipe");
    assert_eq!(stderr(&output), "");
    assert!(stdout(&scratch.run(&["show", "--color", "always", &trace])).contains('\u{1b}'));
    let json = stdout(&scratch.run(&["show", "--json", &trace]));
    let object: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(object["execution"]["steps"].as_array().map(Vec::len), Some(2));
    check_refusal(&scratch.run(&["show", "--steps", "9..", &trace]), 2, "last step");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let scratch = Scratch::new("pipe");
    let trace = scratch.foreign_trace("/bin/true", "00");
    let mut child = scratch
        .heddle(&["show", &trace])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("heddle starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
}

#[test]
fn columns_sets_the_width() {
    let scratch = Scratch::new("width");
    let trace = scratch.foreign_trace("/bin/true", "00");
    let output = scratch.heddle(&["show", &trace]).env("COLUMNS", "1").output().expect("starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn doctor_checks_this_machine() {
    let scratch = Scratch::new("doctor");
    let output = scratch.run(&["doctor", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("one object");
    assert!(object["checks"].as_array().is_some_and(|checks| checks.len() > 5));
}
