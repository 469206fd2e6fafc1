//! The output of the commands about recorded traces.

use serde_json::Value;
use tests::heddle::{Home, Run};
use tests::targets::program;
use traces::report::Report;

/// A failing trace and a passing one of a target.
fn traces(home: &Home, name: &str) -> (String, String) {
    let path = program(name).build().expect("targets compile").to_string_lossy().into_owned();
    let found = home.heddle(["explore", "--strategy", "random", "--json", "--", &path]).report();
    let failing = found.bugs[0].trace.clone().expect("a trace");
    let passing: Report = home.heddle(["run", "--json", "--", &path]).object();
    assert!(passing.bugs.is_empty(), "{passing:?}");
    let listed =
        std::fs::read_dir(home.path().join("heddle-out")).expect("the directory of traces");
    let passing = listed
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.to_string_lossy().contains("/run-"))
        .expect("the trace of the run");
    (failing, passing.to_string_lossy().into_owned())
}

fn exported(home: &Home, trace: &str, format: &str) -> String {
    let run = home.heddle(["export", "--format", format, trace]);
    assert_eq!(run.status, 0, "{run:?}");
    run.stdout
}

#[test]
fn run_without_a_seed_preempts_no_task() {
    let home = Home::new();
    let (_, passing) = traces(&home, "abba");
    let object: Value = serde_json::from_str(&exported(&home, &passing, "json")).expect("JSON");
    assert_eq!(object["preemptions"], 0, "{object}");
    assert_eq!(object["strategy"], "default");
    let steps = object["steps"].as_array().expect("steps");
    assert!(steps.iter().all(|step| step["preemption"] == false), "{object}");
}

#[test]
fn a_failing_and_a_passing_schedule_are_compared() {
    let home = Home::new();
    let (failing, passing) = traces(&home, "abba");
    let Run { status, stdout, .. } = home.heddle(["diff", "--ascii", &failing, &passing]);
    assert_eq!(status, 0, "{stdout}");
    for expected in
        ["A deadlock", "B passes", "The schedules diverge after", "T1 lock a", "T2 lock b"]
    {
        assert!(stdout.contains(expected), "{expected}: {stdout}");
    }
    let same = home.heddle(["diff", &failing, &failing]);
    assert!(same.stdout.contains("the schedules are identical"), "{same:?}");
    let (other, _) = traces(&home, "lost_wakeup");
    let refused = home.heddle(["diff", &failing, &other]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("different programs"), "{refused:?}");
}

#[test]
fn every_export_format_is_written_to_a_file_or_to_standard_output() {
    let home = Home::new();
    let (failing, _) = traces(&home, "abba");
    for (format, start) in [
        ("json", "{\""),
        ("chrome", "{\"displayTimeUnit\""),
        ("dot", "digraph"),
        ("shiviz", "create"),
        ("svg", "<svg"),
    ] {
        let text = exported(&home, &failing, format);
        assert!(text.starts_with(start), "{format}: {text}");
        let file = home.path().join(format);
        let to = file.to_string_lossy().into_owned();
        let run = home.heddle(["export", "--format", format, "-o", &to, &failing]);
        assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{run:?}");
        assert_eq!(std::fs::read_to_string(&file).expect("it was written"), text);
    }
    let nowhere = home.heddle(["export", "--format", "dot", "-o", "/no/such/file", &failing]);
    assert_eq!(nowhere.status, 2, "{nowhere:?}");
    let nothing = home.heddle(["export", "--format", "knitting", &failing]);
    assert_eq!(nothing.status, 2, "{nothing:?}");
}

#[test]
fn graphviz_accepts_the_exported_graph() {
    let home = Home::new();
    let (failing, passing) = traces(&home, "abba");
    for trace in [failing, passing] {
        let file = home.path().join("schedule.dot");
        std::fs::write(&file, exported(&home, &trace, "dot")).expect("written");
        let drawn = std::process::Command::new("dot").arg("-Tplain").arg(&file).output();
        let drawn = drawn.expect("dot runs: scripts/test.sh installs graphviz");
        let said = String::from_utf8_lossy(&drawn.stderr);
        assert!(drawn.status.success() && said.is_empty(), "{said}");
        let drawn = String::from_utf8_lossy(&drawn.stdout).into_owned();
        let object: Value = serde_json::from_str(&exported(&home, &trace, "json")).expect("JSON");
        let steps = object["steps"].as_array().expect("steps");
        let nodes = drawn.lines().filter(|line| line.starts_with("node ")).count();
        assert_eq!(nodes, steps.len(), "{drawn}");
        let causes = |step: &Value| step["causes"].as_array().map_or(0, Vec::len);
        let edges = drawn.lines().filter(|line| line.starts_with("edge ")).count();
        assert_eq!(edges, steps.iter().map(causes).sum::<usize>(), "{drawn}");
    }
}

#[test]
fn a_search_without_choices_is_reported_as_such_also_in_junit() {
    let home = Home::new();
    let source = home.path().join("alone.c");
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("written");
    let built = std::process::Command::new("gcc")
        .args(["alone.c", "-o", "alone"])
        .current_dir(home.path())
        .status();
    assert!(built.expect("gcc runs").success());
    let run = home.heddle(["explore", "--strategy", "dfs", "--junit", "r.xml", "--", "./alone"]);
    assert!(run.stdout.starts_with("note: the program created no thread"), "{run:?}");
    let xml = std::fs::read_to_string(home.path().join("r.xml")).expect("the report");
    assert!(xml.contains("failures=\"0\"") && xml.contains("created no thread"), "{xml}");
    let run =
        home.heddle(["explore", "--junit", "none/r.xml", "--strategy", "dfs", "--", "./alone"]);
    assert_eq!((run.status, run.stderr.lines().count()), (2, 1), "{run:?}");
    assert!(run.stderr.contains("none/r.xml: cannot write the report"), "{run:?}");
    let run = home.heddle(["explore", "--json", "--strategy", "dfs", "--", "./alone"]);
    assert_eq!(run.report().notes.len(), 1);
}

#[test]
fn the_program_gets_its_environment_unchanged_and_in_order() {
    let home = Home::new();
    let source = home.path().join("order.c");
    let text = r#"
        #include <stdio.h>
        extern char **environ;
        int main(void)
        {
            for (char **entry = environ; *entry; entry++)
                puts(*entry);
            return 0;
        }
    "#;
    std::fs::write(&source, text).expect("written");
    let built = std::process::Command::new("gcc")
        .args(["order.c", "-o", "order"])
        .current_dir(home.path())
        .status();
    assert!(built.expect("gcc runs").success());
    let state = format!("XDG_STATE_HOME={}", home.path().join("state").display());
    let mut command = std::process::Command::new("env");
    command
        .args(["-i", "ZEBRA=1", &state, "RUST_BACKTRACE=full", "APE=2"])
        .arg(tests::heddle::binary())
        .args(["run", "--", "./order"])
        .current_dir(home.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let run = tests::heddle::run(command, std::time::Duration::from_secs(600));
    assert_eq!(run.stdout, format!("ZEBRA=1\n{state}\nRUST_BACKTRACE=full\nAPE=2\n"), "{run:?}");
}

#[test]
fn a_run_cut_at_the_step_limit_is_not_reported_as_passing() {
    let home = Home::new();
    let path = program("increment").build().expect("targets compile");
    let run = home.heddle(["run", "--max-steps", "5", "--", &path.to_string_lossy(), "2", "9"]);
    assert!(run.stderr.contains("no failure so far: stopped after 5 steps"), "{run:?}");
}

#[test]
fn what_may_follow_each_step_is_shown_as_it_is_counted() {
    let home = Home::new();
    let (failing, passing) = traces(&home, "abba");
    // Without the option nothing is run, and nothing is said.
    let plain: Value = home.heddle(["show", "--json", &failing]).object();
    assert!(plain.get("prospects").is_none() && plain.get("no_return").is_none());
    let shown: Value = home.heddle(["show", "--json", "--prospects", &failing]).object();
    let explained: Value = home.heddle(["explain", "--json", &failing]).object();
    assert_eq!(shown["execution"], plain["execution"]);
    let prospects = shown["prospects"].as_array().expect("a list");
    let steps = shown["execution"]["steps"].as_array().expect("steps").len();
    assert_eq!(prospects.len(), steps + 1);
    // Shares grow along the schedule, up to the point from which no schedule passes.
    let lost = shown["no_return"]["lost_after"].as_u64().expect("a number") as usize;
    for (after, prospect) in prospects.iter().enumerate() {
        assert_eq!(prospect["complete"], true, "{after}: {prospect}");
        let fails = prospect["executions"] == prospect["failing"];
        assert_eq!(fails, after >= lost, "{after}: {prospect}");
    }
    let text = shown["no_return_text"].as_str().expect("a sentence");
    assert!(text.contains("schedules pass; from step"), "{text}");
    assert!(explained["no_return"]["lost_after"].is_u64(), "{explained}");
    let page = home.heddle(["show", "--prospects", &failing]).stdout;
    assert!(page.contains("What may follow") && page.contains(text), "{page}");
    let refused = home.heddle(["show", "--prospects", &passing]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("is for failing traces"), "{refused:?}");
    // At the start the same schedules may follow as a complete search runs.
    let path = program("abba").build().expect("targets compile").to_string_lossy().into_owned();
    let all = ["explore", "--strategy", "dfs", "--keep-going", "--json", "--", path.as_str()];
    let all = home.heddle(all).report();
    assert_eq!(prospects[0]["executions"], all.classes, "{:?}", prospects[0]);
}
