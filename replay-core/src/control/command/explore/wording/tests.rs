//! Each sentence, from the facts that it is made of.

use super::*;
use traces::FailureKind;

#[test]
fn time_between_scheduling_points_is_reported() {
    let note = |seconds: f64, steps| slow_note(Duration::from_secs_f64(seconds), steps);
    assert!(note(60.0, 240).is_some_and(|note| note.contains("(250 ms per step)")));
    // One microsecond per step; also short executions in a new process each.
    assert_eq!(note(60.0, 60_000_000), None);
    assert_eq!(note(3.0, 1_000), None);
    assert_eq!(note(3.0, 0), None);
    // One execution of four steps: start-up cost only.
    assert_eq!(note(0.13, 4), None);
    assert_eq!(
        note(60.0, 240).as_deref(),
        Some(
            "most of the time was spent between scheduling points (250 ms per step): use smaller \
             input, or start executions later (heddle_begin)"
        )
    );
}

#[test]
fn a_finished_search_says_why_it_is_incomplete() {
    assert_eq!(
        uncovered(StrategyChoice::DPOR, true),
        "a random walk that checked dpor ended as no execution of the search did: steps depend on \
         each other in a way that Heddle does not see; --strategy dfs needs no such knowledge \
         (--bound N limits its preemptions)"
    );
    assert_eq!(
        uncovered(StrategyChoice::AUTO, false),
        "auto is finished, but does not cover every schedule: a loop that was in a new state after \
         each iteration was followed for some of them, or an execution was not observed to its end"
    );
}

#[test]
fn a_strategy_that_does_not_know_an_operation_names_another_one() {
    assert_eq!(
        uncovered(StrategyChoice::STATELESS, false),
        "stateless is finished, but does not cover every schedule: the program uses a read-write lock, a time \
         limit, a spin loop, a pipe or socket, a counter or a test harness, whose orders it does not know; \
         --strategy dpor does"
    );
}

#[test]
fn a_scope_limits_what_the_report_claims() {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let scope = [names(&["push", "pop"]), names(&["queue.c"]), names(&["T2"])];
    assert_eq!(
        scope_note(&scope).as_deref(),
        Some(
            "the search was scoped: preemptions only in queue.c, no preemptions in push, pop, no \
             preemptions of T2; other schedules were not explored"
        )
    );
    assert_eq!(scope_note(&Default::default()), None);
}

#[test]
fn assumptions_are_named_with_their_option() {
    let reuse = |what: &str| {
        format!(
            "assuming that {what} at its old address in one execution: addresses of freed blocks are \
             compared (--reuse)"
        )
    };
    assert_eq!(reuse_note(0), reuse("no freed block comes back"));
    assert_eq!(reuse_note(1), reuse("one freed block at most comes back"));
    assert_eq!(reuse_note(3), reuse("3 freed blocks at most come back"));
    let seconds = traces::seconds(2_000_000_000);
    assert_eq!(
        slack_note(2_000_000_000),
        format!(
            "assuming that no step is later than {seconds} by its thread's clock: deadlines that \
             expire only if one is were not tried (--slack)"
        )
    );
    assert_eq!(short_counts_note(0), None);
    assert_eq!(
        short_counts_note(1).as_deref(),
        Some("up to 1 transfer of each thread over network connections could be short")
    );
    assert_eq!(
        short_counts_note(2).as_deref(),
        Some("up to 2 transfers of each thread over network connections could be short")
    );
    assert_eq!(spurious_note(0), None);
    assert_eq!(
        spurious_note(1).as_deref(),
        Some("up to 1 wait of each thread could wake up spuriously")
    );
    assert_eq!(
        spurious_note(3).as_deref(),
        Some("up to 3 waits of each thread could wake up spuriously")
    );
}

#[test]
fn assumptions_about_clients_and_the_beginning_are_notes() {
    assert_eq!(clients_note(0, 0), None);
    assert_eq!(outside_note(0), None);
    let outside = "3 executions ended where the program sent a client something else than in the recording: \
                   --live-clients explores what the clients do then";
    assert_eq!(outside_note(3).as_deref(), Some(outside));
    let live = "2 clients ran in each execution (--live-clients): what they do was not explored, only observed";
    assert_eq!(clients_note(0, 2).as_deref(), Some(live));
    assert_eq!(begin_note(""), None);
    let repeated = |sender: &str| {
        format!(
            "assuming that {sender} sent when it was recorded, after the same answers: the orders in which \
             the program gets this were explored (--client)"
        )
    };
    assert_eq!(clients_note(1, 0), Some(repeated("the client sends what it")));
    assert_eq!(clients_note(2, 0), Some(repeated("each of the 2 clients sends what it")));
    let began = |place: &str| {
        format!(
            "the search began {place}: everything before that was run in one order (--begin-at)"
        )
    };
    assert_eq!(begin_note("idle"), Some(began("where the program first waits")));
    assert_eq!(begin_note("serve"), Some(began("at serve")));
}

#[test]
fn what_ended_processes_from_outside_is_reported_with_its_number() {
    let all = BTreeMap::from([("signal 15 ended it".to_owned(), 1), ("x".to_owned(), 2)]);
    let notes: Vec<String> = disturbance_notes(&all).collect();
    assert_eq!(
        notes,
        [
            "something outside of the program ended one of its processes (once): signal 15 ended \
             it; its executions were run again",
            "something outside of the program ended one of its processes (2 times): x; its \
             executions were run again",
        ]
    );
}

#[test]
fn the_reason_of_an_incomplete_search_is_what_ended_it() {
    let ended = Ended {
        limit: "",
        executions: 9,
        given_up: 0,
        is_interrupted: false,
        is_outside: false,
        cut: 0,
        outside: 0,
        step_limit: 500,
        has_beginnings: false,
        leaves_files: false,
        is_unobserved: false,
        may_continue: false,
    };
    let time = "the time limit was reached";
    let all = [
        Ended { limit: time, ..ended },
        Ended { limit: time, executions: 0, ..ended },
        Ended { is_interrupted: true, cut: 3, ..ended },
        Ended { is_outside: true, ..ended },
        Ended { cut: 3, has_beginnings: true, ..ended },
        Ended { cut: 3, ..ended },
        Ended { outside: 2, ..ended },
        Ended { leaves_files: true, ..ended },
        Ended { is_unobserved: true, ..ended },
        Ended { may_continue: true, ..ended },
        Ended { given_up: 412, ..ended },
        ended,
    ];
    let reasons = all.map(|one| one.reason(|| "dfs is finished".to_owned()));
    assert_eq!(
        reasons,
        [
            time,
            "the time limit was reached before the first execution ended: the program computes, \
             waits or allocates for longer than that; use smaller input, raise --max-time, or limit \
             its memory (--max-memory)",
            "interrupted",
            "an execution failed and did not fail when its schedule was run again",
            "3 executions ended at their limit on steps (at most 500): --beginnings 0 runs each to \
             its end",
            "3 executions reached their limit on steps (at most 500): they made no progress, or \
             --max-steps N allows more",
            "2 executions ended where the program sent a client something else than in the recording",
            "every schedule was run, but executions find files that earlier ones left",
            "every schedule was run, but not every memory access could be observed",
            "dfs is finished",
            "the limit on executions was reached, of which 412 were given up because they would have \
             repeated others",
            "the limit on executions was reached",
        ]
    );
}

fn failure() -> Bug {
    Bug {
        kind: FailureKind::Deadlock,
        signature: String::new(),
        message: "T1 waits for m".to_owned(),
        site: String::new(),
        stack: Vec::new(),
        trace: None,
        found_at: 1,
        preemptions: 0,
        switches: 0,
        steps: 1,
        count: 1,
    }
}

#[test]
fn failures_that_were_seen_once() {
    let once = "deadlock was seen once and not confirmed: T1 waits for m";
    assert_eq!(not_confirmed(&failure(), 1), once);
    let more = "deadlock was seen once and not confirmed (and 2 more): T1 waits for m";
    assert_eq!(not_confirmed(&failure(), 3), more);
    let how = || "signal 9 ended it".to_owned();
    for (again, why) in [
        (
            Outcome::Recorded(Box::default()),
            Some(
                "its schedule did not fail when it was run again: it depends on something outside \
                 of the schedule",
            ),
        ),
        (
            Outcome::Diverged { step: 7, what: "T1 reads x".to_owned() },
            Some("its schedule diverged at step 7 when it was run again: T1 reads x"),
        ),
        (
            Outcome::Died { how: how(), from_outside: true },
            Some("when its schedule was run again, signal 9 ended it"),
        ),
        (Outcome::Died { how: how(), from_outside: false }, None),
        (Outcome::Interrupted, None),
    ] {
        assert_eq!(why_missing(&again).as_deref(), why);
    }
}

#[test]
fn a_trace_that_is_saved_elsewhere_or_lost() {
    let error = || Error::Runtime("out: permission denied".to_owned());
    assert_eq!(
        saved_elsewhere(&error(), Some(Path::new("/tmp/a.heddle"))),
        "out: permission denied; it was saved as /tmp/a.heddle instead"
    );
    assert_eq!(
        saved_elsewhere(&error(), None),
        "out: permission denied; it is lost: search again with another --out"
    );
}

#[test]
fn calls_with_unknown_effects_are_named_with_their_place() {
    let line = |name: &str| unknown_call(name, "libfoo.so", Some("queue.c:9".to_owned()));
    assert_eq!(
        unknown_call("frob", "libfoo.so", None),
        "not explored: calls of `frob` in libfoo.so: what the function reads and writes is not known"
    );
    assert_eq!(
        line("_ZN3app4frob17h0123456789abcdefE"),
        "not explored: calls of `app::frob` in libfoo.so, from queue.c:9: what the function reads \
         and writes is not known"
    );
    assert_eq!(
        line("what a device does"),
        "not explored: what a device does (libfoo.so), from queue.c:9"
    );
    assert_eq!(
        line(&format!("{UNKNOWN_INSTRUCTION}vpgatherdd")),
        "not explored: accesses of the instruction `vpgatherdd` in libfoo.so, from queue.c:9: the \
         extent of what it reads and writes is not known"
    );
    assert_eq!(
        line(&format!("{OVERLAPPING_USE}the state of drand48")),
        "not explored: calls in several threads that use the state of drand48 at the same time, \
         from queue.c:9: libfoo.so does not protect it; hold a lock around these calls"
    );
    assert_eq!(
        line(&format!("{PROCESSOR_CLOCK}rdtsc")),
        "not explored: the values of the instruction `rdtsc` in libfoo.so, from queue.c:9: they are \
         the processor's time and not the program's; read a clock with clock_gettime"
    );
    assert_eq!(
        line(&format!("{CALL_IN_PARTS}snprintf")),
        "not explored: the moments within a call of `snprintf`, from queue.c:9: a call is one step, and \
         another thread accesses the same memory at the same time; hold a lock around both"
    );
    assert_eq!(
        line(&format!("{LEFT_FILE}/tmp/a")),
        "not explored: executions without the files of earlier ones: the program leaves `/tmp/a` \
         changed, from queue.c:9; remove it at the end, or write in the working directory (--scratch)"
    );
}

#[test]
fn changed_files_delayed_stores_and_late_steps() {
    assert_eq!(
        probes_removed(3),
        "in 3 executions not every memory access was observed, because there were too many"
    );
    assert!(probes_removed(1).starts_with("in 1 execution not every"));
    assert_eq!(file_note(false, None), None);
    assert_eq!(
        file_note(true, None).as_deref(),
        Some(
            "the program changes files in its working directory: each execution had its own copy \
             (--scratch)"
        )
    );
    assert_eq!(
        file_note(false, Some("mounts are not permitted".to_owned())).as_deref(),
        Some(
            "the program changes files in its working directory, and executions see what earlier \
             ones left: mounts are not permitted"
        )
    );
    assert_eq!(
        delayed_store(Some("x"), "a.c:3", "a.c:2"),
        "x: the load at a.c:3 can execute before the store at a.c:2 is visible to other threads"
    );
    let mut execution = Execution::default();
    assert_eq!(late(&execution), "");
    let note = |step, by| traces::execution::DeadlineNote {
        step,
        preempts: false,
        late: Some((traces::TaskId(1), by)),
    };
    execution.deadlines = vec![note(1, 1_000_000), note(2, 3_000_000)];
    assert_eq!(
        late(&execution),
        "; a step is up to 0.003 s late by its thread's clock (--slack 0 tries no such schedule)"
    );
}

/// A complete search of one thread.
fn complete() -> Report {
    Report {
        heddle: 1,
        verdict: Verdict::Clean,
        memory_model: "sc".into(),
        strategy: "dfs".into(),
        found_by: None,
        bound: None,
        complete: true,
        executions: 4,
        classes: 4,
        given_up: 0,
        learning: 0,
        checks: 0,
        resumed: 0,
        distinct: 1,
        diverged: 0,
        elapsed_s: 0.4,
        executions_per_s: 10,
        workers: 1,
        reset: "fork".into(),
        points: traces::report::Points::default(),
        threads: 1,
        max_steps: 8,
        cut: 0,
        outside: 0,
        step_limit: 500,
        races: Vec::new(),
        race_details: Vec::new(),
        suppressed: Vec::new(),
        conflicts: Vec::new(),
        store_buffers: Vec::new(),
        leaks: Vec::new(),
        left_held: Vec::new(),
        bugs: Vec::new(),
        predicates: Vec::new(),
        conditions: Vec::new(),
        through: None,
        satisfied: Vec::new(),
        unconfirmed: Vec::new(),
        disturbed: 0,
        notes: Vec::new(),
        reason: String::new(),
    }
}

#[test]
fn notes_limit_what_the_report_claims() {
    let mut report = complete();
    let none = "the program created no thread: there was nothing to interleave";
    assert_eq!(notes(&report, Vec::new(), false, true), [none]);
    report.threads = 2;
    assert_eq!(
        notes(&report, Vec::new(), false, true),
        ["every execution was the same: the threads share no scheduling point, or their shared \
          accesses are not observed (see --points)"]
    );
    report.cut = 3;
    report.distinct = 2;
    let cut = ["3 executions reached their limit on steps (at most 500)"];
    assert_eq!(notes(&report, Vec::new(), false, true), cut);
    report.reason = format!("{}: more", cut[0]);
    assert!(notes(&report, Vec::new(), false, true).is_empty());
}

#[test]
fn events_of_a_search_are_sentences() {
    let program = Path::new("./queue");
    let how = "signal 9 ended it";
    for (said, expected) in [
        (warmed_up(1, None), "1 warm-up execution created files and caches before the search"),
        (
            warmed_up(2, Some("warm-up run 1 failed: T1 waits")),
            "2 warm-up executions created files and caches before the search; warm-up run 1 failed: T1 \
             waits",
        ),
        (
            left_prefix(7, "T1 reads x"),
            "an execution diverged from its prefix at step 7: T1 reads x",
        ),
        (many_deaths(how), "too many processes of the program died: signal 9 ended it"),
        (
            other_reset(Reset::Memory, Reset::Fork, "it maps shared memory"),
            "fork reset is used instead of memory: it maps shared memory",
        ),
        (
            disturbed(program, how),
            "./queue: its process was ended from outside at each of 5 attempts: signal 9 ended it",
        ),
        (
            learns_again(Path::new("out/p.heddle-points")),
            "out/p.heddle-points: the program behaves differently (other input, or other libraries): the \
             learning phase runs again",
        ),
        (
            ended_early(&Error::Runtime("all workers have exited".to_owned())),
            "the search ended early: all workers have exited",
        ),
        (seen_once(&failure()), "deadlock was seen once: T1 waits for m"),
        (
            overwritten(program, "the data was overwritten, or another build of Heddle wrote it")
                .to_string(),
            "./queue overwrote the memory that it shares with Heddle, so there is no result: the data was \
             overwritten, or another build of Heddle wrote it",
        ),
        (
            never_began(program, how).to_string(),
            "./queue ended before main: signal 9 ended it; check that it runs without Heddle",
        ),
    ] {
        assert_eq!(said, expected);
    }
}
