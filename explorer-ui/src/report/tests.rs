//! Snapshots of every report, for hand-made traces.

use crate::report::rows::{Layout, Selection};
use crate::report::schedule::schedule;
use crate::report::style::Style;
use crate::report::text::width;
use crate::report::{failure, list, next_commands, position, samples, search, summary};
use insta::assert_snapshot;
use traces::Trace;
use traces::report::Report;

const PLAIN: Style = Style { color: false, ascii: false };

fn layout(width: usize) -> Layout {
    Layout { width, selection: Selection::default(), enabled: false }
}

fn whole(trace: &Trace, style: &Style, layout: &Layout) -> String {
    let parts = [
        summary::render(trace, style),
        schedule(trace, style, layout),
        failure::render(trace, style, layout.width),
    ];
    parts.join("\n")
}

#[test]
fn two_tasks_in_columns() {
    assert_snapshot!(whole(&samples::two_tasks(), &PLAIN, &layout(100)));
}

#[test]
fn two_tasks_in_ascii() {
    let style = Style { color: false, ascii: true };
    let text = whole(&samples::two_tasks(), &style, &layout(80));
    assert!(text.is_ascii());
    assert_snapshot!(text);
}

#[test]
fn colours_mark_tasks_and_failures() {
    let style = Style { color: true, ascii: false };
    assert_snapshot!(whole(&samples::assertion(), &style, &layout(80)));
}

#[test]
fn a_deadlock_shows_its_cycle() {
    assert_snapshot!(whole(&samples::deadlock(), &PLAIN, &layout(100)));
}

#[test]
fn a_failed_assertion_is_marked() {
    assert_snapshot!(whole(&samples::assertion(), &PLAIN, &layout(80)));
}

#[test]
fn eight_tasks_become_a_list() {
    assert_snapshot!(whole(&samples::eight_tasks(), &PLAIN, &layout(80)));
}

#[test]
fn choices_and_values_are_shown() {
    assert_snapshot!(whole(&samples::data_choice(), &PLAIN, &layout(100)));
}

#[test]
fn strange_names_keep_the_columns_straight() {
    assert_snapshot!(whole(&samples::strange_names(), &PLAIN, &layout(90)));
}

#[test]
fn the_enabled_set_has_a_column() {
    let layout = Layout { enabled: true, ..layout(100) };
    assert_snapshot!(whole(&samples::data_choice(), &PLAIN, &layout));
    assert_snapshot!(
        "the_enabled_set_in_a_list",
        list::render(&samples::data_choice(), &PLAIN, &layout)
    );
}

#[test]
fn silent_steps_fold() {
    let selection = Selection { fold: Some(4), ..Selection::default() };
    let layout = Layout { selection, ..layout(80) };
    assert_snapshot!(schedule(&samples::silent_run(), &PLAIN, &layout));
}

#[test]
fn a_range_of_steps() {
    let selection = Selection { steps: Some((2, 3)), ..Selection::default() };
    let layout = Layout { selection, ..layout(80) };
    assert_snapshot!(schedule(&samples::two_tasks(), &PLAIN, &layout));
}

#[test]
fn one_cell_is_enough_not_to_fail() {
    assert_snapshot!(whole(&samples::deadlock(), &PLAIN, &layout(1)));
}

#[test]
fn an_execution_without_steps() {
    assert_snapshot!(whole(&samples::empty(), &PLAIN, &layout(80)));
}

#[test]
fn no_line_is_wider_than_asked() {
    let traces = [
        samples::two_tasks(),
        samples::deadlock(),
        samples::eight_tasks(),
        samples::data_choice(),
        samples::assertion(),
        samples::strange_names(),
        samples::silent_run(),
        samples::empty(),
    ];
    for trace in &traces {
        for cells in 0..140 {
            for enabled in [false, true] {
                let layout = Layout { enabled, ..layout(cells) };
                let text = schedule(trace, &PLAIN, &layout);
                let rows = text.lines().take(text.lines().count() - 1);
                if cells >= 60 {
                    for line in rows {
                        assert!(width(line) <= cells, "{cells}: {line}");
                    }
                }
                let _ = failure::render(trace, &PLAIN, cells);
            }
        }
    }
}

#[test]
fn damaged_traces_are_shown_too() {
    // Indices out of range, as in a damaged trace.
    let mut trace = samples::deadlock();
    trace.execution.tasks.clear();
    trace.execution.objects.clear();
    trace.execution.modules.clear();
    trace.execution.places.clear();
    assert_snapshot!(whole(&trace, &PLAIN, &layout(100)));
}

fn sample_report(json: &str) -> Report {
    let base = r#"{"heddle":1,"verdict":"bug","memory_model":"sc","strategy":"random",
        "found_by":"random","bound":-1,"complete":false,"executions":6737,"classes":6737,"learning":0,"checks":0,
        "distinct":5120,"diverged":2,"elapsed_s":0.41,"executions_per_s":16431,"workers":1,
        "reset":"fork","points":{"api":41,"racy":0,"compiled":0},"threads":3,"max_steps":87,
        "races":[],"conflicts":[],"leaks":[],"bugs":[]}"#;
    let mut object: serde_json::Value = serde_json::from_str(base).expect("valid");
    let changes: serde_json::Value = serde_json::from_str(json).expect("valid");
    for (key, value) in changes.as_object().expect("an object") {
        object[key] = value.clone();
    }
    serde_json::from_value(object).expect("a report")
}

#[test]
fn search_reports() {
    let bug = sample_report(
        r#"{"bugs":[{"kind":"deadlock","signature":"s","message":"T1 and T2 wait for each other",
            "site":"queue.c:41","trace":"heddle-out/deadlock-3f2a.heddle","found_at":6737,
            "preemptions":2,"switches":5,"steps":63,"count":12}]}"#,
    );
    assert_snapshot!("report_bug", search::render(&bug, &PLAIN));
    let clean = sample_report(
        r#"{"verdict":"clean","complete":true,"strategy":"dfs","bound":2,"diverged":0}"#,
    );
    assert_snapshot!("report_clean", search::render(&clean, &PLAIN));
    let incomplete =
        sample_report(r#"{"verdict":"incomplete","reason":"the executions ran out","diverged":0}"#);
    assert_snapshot!("report_incomplete", search::render(&incomplete, &PLAIN));
    let unsupported =
        sample_report(r#"{"verdict":"unsupported","reason":"it calls io_uring_setup"}"#);
    assert_snapshot!("report_unsupported", search::render(&unsupported, &PLAIN));
}

#[test]
fn next_commands_can_be_pasted() {
    assert_snapshot!(next_commands::trace_commands(
        "/tmp/my traces/it's.heddle",
        "explore",
        &PLAIN
    ));
}

#[test]
fn a_position_lists_enabled_tasks_and_what_blocks_the_others() {
    let trace = samples::deadlock();
    let begin = position::render(&trace, 0, &PLAIN);
    assert!(begin.starts_with("Before step 1\n"), "{begin}");
    assert!(begin.contains("no lock is held"), "{begin}");
    let end = position::render(&trace, usize::MAX, &PLAIN);
    assert!(end.starts_with("At the end\n"), "{end}");
    for line in ["  fork_a: T1 since step 4", "  fork_b: T2 since step 6"] {
        assert!(end.contains(line), "{line}: {end}");
    }
}

#[test]
fn a_search_report_with_everything_beside_failures() {
    let bug = r#"{"kind":"deadlock","signature":"s","message":"T1 waits","site":"queue.c:41",
        "trace":null,"found_at":0,"preemptions":2,"switches":5,"steps":63,"count":12}"#;
    let access = |task: &str, locks: &str| {
        format!(
            r#"{{"task":"{task}","what":"writes 4 bytes","step":3,"locks":{locks},
            "stack":["push (queue.c:9)","worker (queue.c:30)"]}}"#
        )
    };
    let report = sample_report(&format!(
        r#"{{"bugs":[{bug},{bug}],"unconfirmed":[{bug}],"classes":9,"points":{{"api":41,"racy":2,
        "kept":2,"compiled":0}},"races":["q.len: T1 and T2"],"race_details":[{{"message":"m",
        "accesses":[{},{}],"trace":null}}],"suppressed":["race:libfoo (3)"],
        "store_buffers":["x: the load at a.c:3"],"left_held":["m: locked by T1 at a.c:9"],
        "predicates":[{{"text":"T1@f","result":"not-found"}},{{"text":"T2@f","result":"impossible"}}],
        "conditions":[{{"text":"x > 0","result":"not-broken"}},
        {{"text":"x > 1","result":"never-broken"}}],
        "through":{{"met_passing":1,"met_failing":3,"other_passing":9,"other_failing":0}}}}"#,
        access("T1", "[]"),
        access("T2", r#"["m","n"]"#),
    ));
    assert_snapshot!(search::render(&report, &PLAIN));
}

#[test]
fn a_search_that_ends_in_its_learning_phase_has_no_distinct_schedules() {
    let text = |classes: u64| {
        let counts = format!(r#"{{"executions":3,"learning":3,"classes":{classes}}}"#);
        search::render(&sample_report(&counts), &PLAIN)
    };
    assert!(text(0).contains("3 executions · all in the learning phase · "), "{}", text(0));
    assert!(!text(3).contains("learning phase"), "{}", text(3));
}

#[test]
fn a_complete_search_says_what_it_covered() {
    let lines: Vec<String> = ["null", "0", "1", "2", "-1"]
        .iter()
        .map(|bound| {
            let report = sample_report(&format!(
                r#"{{"verdict":"clean","complete":true,"bound":{bound},"diverged":0}}"#
            ));
            search::render(&report, &PLAIN).lines().next().unwrap_or_default().to_owned()
        })
        .collect();
    assert_eq!(
        lines,
        [
            "no failure, search complete (every schedule)",
            "no failure, search complete (every schedule without preemptions)",
            "no failure, search complete (every schedule with up to 1 preemption)",
            "no failure, search complete (every schedule with up to 2 preemptions)",
            "no failure, search complete (not every schedule without preemptions)",
        ]
    );
    let error = sample_report(r#"{"verdict":"error","reason":"./queue: not found","bugs":[]}"#);
    let text = search::render(&error, &PLAIN);
    assert!(text.starts_with("the program could not be run: ./queue: not found\n"), "{text}");
}

#[test]
fn an_execution_that_was_not_recorded_has_no_schedule() {
    let mut trace = samples::assertion();
    trace.execution = traces::Execution::default();
    assert_eq!(
        schedule(&trace, &PLAIN, &layout(80)),
        "no schedule was recorded: the program did not fail in this way when its execution was repeated \
         for the recording; the failure depends on more than the schedule\n"
    );
}

#[test]
fn states_of_tasks_at_a_failure() {
    use traces::{TaskId, TaskStack, TaskState};
    let mut trace = samples::assertion();
    let states = [
        TaskState::Running,
        TaskState::Runnable,
        TaskState::Blocked("waits for m".to_owned()),
        TaskState::Exited,
    ];
    let failure = trace.failure.as_mut().expect("it fails");
    failure.task = None;
    failure.past.clear();
    let stack = |state| TaskStack { task: TaskId(1), state, frames: Vec::new() };
    failure.stacks = states.map(stack).to_vec();
    let text = failure::render(&trace, &PLAIN, 80);
    let lines: Vec<&str> = text.lines().skip(1).filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 4, "{text}");
    for (line, end) in
        lines.iter().zip(["was running", "was enabled", "blocked: waits for m", "had exited"])
    {
        assert!(line.ends_with(end), "{line}");
    }
}

#[test]
fn the_accesses_of_a_race_name_their_locks() {
    use traces::FailureKind;
    let mut trace = samples::assertion();
    let failure = trace.failure.as_mut().expect("it fails");
    failure.kind = FailureKind::Race;
    let mut past = failure.past[0].clone();
    assert_eq!(failure::holding(&trace, &past), ", holding no lock,");
    past.locks = vec![0];
    let name = trace.execution.objects[0].name.clone();
    assert_eq!(failure::holding(&trace, &past), format!(", holding {name},"));
    trace.failure.as_mut().expect("it fails").kind = FailureKind::Deadlock;
    assert_eq!(failure::holding(&trace, &past), "");
}

#[test]
fn a_step_lists_its_relations_to_others() {
    let text = position::render(&samples::two_tasks(), 2, &PLAIN);
    assert_snapshot!(text);
}

#[test]
fn a_late_task_is_named_in_the_summary() {
    use traces::TaskId;
    let mut trace = samples::two_tasks();
    let note = traces::execution::DeadlineNote {
        step: 1,
        preempts: false,
        late: Some((TaskId(1), 2_000_000)),
    };
    trace.execution.deadlines.push(note);
    let text = summary::render(&trace, &PLAIN);
    assert!(text.contains(" · T1 up to 0.002 s late by its clock"), "{text}");
}

#[test]
fn reversed_orders_are_listed() {
    use traces::Operation;
    let first = samples::lost_update();
    let mut second = first.clone();
    let steps = &second.execution.steps;
    let writes = (0..steps.len()).filter(|&at| steps[at].operation == Operation::Write);
    let [one, other] = writes.collect::<Vec<_>>()[..] else { panic!("two writes") };
    second.execution.steps.swap(one, other);
    second.failure = None;
    let text = crate::report::diff::render(&first, &second, 1, &PLAIN, 100);
    let heading = "Reversed orders (as in A; B has the reverse)\n  T1 write total (queue.c:10) before T2 write \
                   total (queue.c:10)\n";
    assert!(text.contains(heading), "{text}");
}
