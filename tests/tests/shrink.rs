//! Shrinking real failures: the number of remaining preemptions, the proof of minimality, and that
//! the failure stays the same.

use serde_json::Value;
use tests::debugging::store_points;
use tests::heddle::Home;
use tests::targets::program;

/// A failing trace of a target, found by a random walk with this seed.
fn failing(home: &Home, name: &str, seed: &str) -> (String, Vec<String>) {
    let target = program(name);
    let path = target.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--strategy", "random", "--seed", seed, "--json", "--", &path];
    args.extend(target.args.iter().map(String::as_str));
    let report = home.heddle(&args).report();
    let bug = &report.bugs[0];
    (bug.trace.clone().expect("a trace"), vec![bug.kind.to_string(), bug.signature.clone()])
}

/// Shrinks the failures found with several seeds: all have the same proven minimum.
fn check(name: &str, preemptions: u64) {
    let home = Home::new();
    for seed in ["0", "1", "2"] {
        let (trace, failure) = failing(&home, name, seed);
        let run = home.heddle(["shrink", "--json", &trace]);
        assert_eq!(run.status, 0, "{name} seed {seed}: {run:?}");
        let object: Value = run.object();
        assert_eq!(object["to"]["preemptions"], preemptions, "{name} seed {seed}: {object}");
        assert_eq!(object["minimal"], "proved", "{name} seed {seed}: {object}");
        let small = object["trace"].as_str().expect("a path");
        let replayed: Value = home.heddle(["replay", "--json", small]).object();
        assert_eq!(replayed["failure"]["kind"], failure[0].as_str(), "{name}: {replayed}");
        assert_eq!(replayed["failure"]["signature"], failure[1].as_str(), "{name}: {replayed}");
    }
}

#[test]
fn a_lost_update_takes_one_preemption() {
    check("increment", 1);
}

#[test]
fn two_locks_in_opposite_order_take_one_preemption() {
    check("abba", 1);
}

#[test]
fn a_check_and_an_act_in_two_sections_take_one_preemption() {
    check("bank", 1);
}

#[test]
fn a_failure_of_every_schedule_takes_none() {
    check("self_deadlock", 0);
}

#[test]
fn a_passing_trace_is_refused() {
    let home = Home::new();
    let path = program("increment").build().expect("targets compile");
    let run = home.heddle(["run", "--", &path.to_string_lossy(), "2", "1"]);
    assert_eq!(run.status, 0, "{run:?}");
    let trace = run.trace();
    let refused = home.heddle(["shrink", trace]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("does not fail"), "{refused:?}");
}

#[test]
fn no_other_file_is_overwritten() {
    let home = Home::new();
    let (trace, _) = failing(&home, "abba", "0");
    let mine = home.path().join("mine");
    std::fs::write(&mine, "not a trace").expect("a file");
    let refused = home.heddle(["shrink", &trace, "-o", &mine.to_string_lossy()]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert_eq!(std::fs::read_to_string(&mine).expect("still there"), "not a trace");
}

#[test]
fn a_failure_that_depends_on_something_outside_the_schedule_is_refused_with_a_reason() {
    let home = Home::new();
    let source = home.path().join("flaky.c");
    let text = r#"
        #include <assert.h>
        #include <pthread.h>
        #include <unistd.h>
        static void *work(void *unused) { return unused; }
        int main(void)
        {
            pthread_t thread;
            pthread_create(&thread, NULL, work, NULL);
            pthread_join(thread, NULL);
            assert(access("broken", F_OK) != 0);
            return 0;
        }
    "#;
    std::fs::write(&source, text).expect("written");
    let built = std::process::Command::new("gcc")
        .args(["-g", "-pthread", "flaky.c", "-o", "flaky"])
        .current_dir(home.path())
        .status();
    assert!(built.expect("gcc runs").success());
    let reason = home.path().join("broken");
    std::fs::write(&reason, "").expect("written");
    let report = home.heddle(["explore", "--json", "--", "./flaky"]).report();
    let trace = report.bugs[0].trace.clone().expect("a trace");
    std::fs::remove_file(&reason).expect("it was there");
    for verb in ["shrink", "bisect"] {
        let refused = home.heddle([verb, &trace]);
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(refused.stderr.contains("did not occur again (it passed)"), "{refused:?}");
    }
    let page = home.heddle(["explain", &trace]);
    assert_eq!(page.status, 0, "{page:?}");
    assert!(page.stdout.contains("did not occur again"), "{page:?}");
}

/// The length of the failures to shrink: with `HEDDLE_SHRINK_STEPS=100000` every program of the
/// list is shrunk and timed.
fn steps() -> Option<u64> {
    std::env::var("HEDDLE_SHRINK_STEPS").ok().and_then(|steps| steps.parse().ok())
}

/// Programs whose failures are preceded by unrelated steps.
const NOISY: [&str; 25] = [
    "abba",
    "bank",
    "twostage",
    "lost_update",
    "work_stealing",
    "account",
    "order",
    "reorder",
    "reorder_four",
    "arithmetic",
    "dinner",
    "dinner_seven",
    "never_released",
    "never_signalled",
    "wronglock",
    "global_string",
    "shared_index",
    "triangular",
    "freed",
    "freed_twice",
    "pipe_release",
    "downloader",
    "compressor_joined",
    "thread_pool",
    "order_in_state",
];

#[test]
fn a_long_random_failure_shrinks_to_the_minimum_of_bounded_search() {
    let many = steps();
    let names = &NOISY[..if many.is_some() { NOISY.len() } else { 3 }];
    let mut larger = Vec::new();
    for name in names {
        let target = program(name);
        let home = Home::new();
        let plain = target.build().expect("targets compile").to_string_lossy().into_owned();
        let noise = many.unwrap_or(3_000) / u64::from(target.threads) / 2;
        let noisy = home.path().join(name);
        let built = std::process::Command::new("gcc")
            .args(["-std=gnu11", "-O1", "-g", "-pthread", "-include", "noise.h"])
            .arg(format!("-DNOISE={noise}"))
            .args(&target.flags)
            .args([target.file.as_str(), "-o"])
            .arg(&noisy)
            .current_dir(tests::targets::sources())
            .status();
        assert!(built.expect("gcc runs").success(), "{name}");
        let noisy = noisy.to_string_lossy().into_owned();
        let explore = |strategy: &[&str], path: &str| {
            let mut args = vec!["explore", "--json", "--points", target.points.name()];
            args.extend(strategy);
            args.extend(["--", path]);
            args.extend(target.args.iter().map(String::as_str));
            home.heddle(&args).report()
        };
        let long = explore(&["--strategy", "random", "--max-steps", "1000000"], &noisy);
        let found = match (long.bugs.first(), many) {
            (Some(found), _) => found,
            (None, Some(_)) => {
                println!("{name}: a random walk finds nothing in so much noise");
                continue;
            }
            (None, None) => panic!("{name}: {long:?}"),
        };
        // In another directory, because equal failures have equal file names.
        let elsewhere = ["--strategy", "icb", "--keep-going", "--out", "bounded"];
        let bounded = explore(&elsewhere, &plain);
        // The same failure at the same site.
        let same = |signature: &str| signature == found.signature;
        let least = bounded.bugs.iter().find(|bug| same(&bug.signature));
        let trace = found.trace.clone().expect("a trace");
        let began = std::time::Instant::now();
        let run = home.heddle(["shrink", "--json", &trace]);
        assert_eq!(run.status, 0, "{name}: {run:?}");
        let object: Value = run.object();
        assert_eq!(object["from"]["steps"], found.steps, "{name}: another trace: {object}");
        // The report says how minimality was established.
        assert!(found.steps > 2_000, "{name}: {found:?}");
        if object["minimal"] == "proved" {
            assert_eq!(object["by"], "orders", "{name}: {object}");
        }
        if many.is_some() {
            let least = least.map(|bug| bug.preemptions);
            println!("{name}: {:.1} s, icb {least:?}, {object}", began.elapsed().as_secs_f64());
        }
        if let Some(least) = least.filter(|least| object["to"]["preemptions"] != least.preemptions)
        {
            larger.push(format!("{name}: {} are enough: {object}", least.preemptions));
        }
    }
    assert!(larger.is_empty(), "{}", larger.join("\n"));
}

/// Seven preemptions are the minimum, by a search of all states; the schedules with six cannot all
/// be run.
#[test]
fn a_failure_that_needs_seven_preemptions_in_three_tasks_shrinks_to_seven() {
    let home = Home::new();
    let target = program("safestack");
    let path = target.build().expect("targets compile").to_string_lossy().into_owned();
    // With this seed it takes 34,000 executions with common compilers.
    let walk = ["explore", "--json", "--strategy", "sticky:2", "--seed", "11"];
    let args = [&walk[..], &["--max-executions", "8000000", "--", &path, "2"]].concat();
    let report = home.heddle(args).report();
    let found = report.bugs.first().unwrap_or_else(|| panic!("one in a million: {report:?}"));
    assert!(found.preemptions >= 7, "{found:?}");
    let trace = found.trace.clone().expect("a trace");
    let object: Value = home.heddle(["shrink", "--json", &trace]).object();
    assert_eq!(object["to"]["preemptions"], 7, "{object}");
    assert_eq!(object["minimal"], "tried", "{object}");
}

#[test]
fn many_preemptions_of_a_work_stealing_queue_shrink_to_the_necessary_ones() {
    let home = Home::new();
    let path = program("work_stealing").build().expect("targets compile");
    let path = path.to_string_lossy().into_owned();
    store_points(&home, &path, &["30"]);
    let found_by = |seed: u32| {
        let seed = seed.to_string();
        let options = ["--strategy", "random", "--seed", &seed];
        let args = [&["explore", "--json"], &options[..], &["--", &path, "30"]].concat();
        home.heddle(args).report().bugs.remove(0)
    };
    let found = (0..20).map(found_by).find(|found| found.preemptions >= 50);
    let found = found.expect("a failure with many preemptions");
    let trace = found.trace.clone().expect("a trace");
    let object: Value = home.heddle(["shrink", "--json", &trace]).object();
    assert_eq!(object["to"]["preemptions"], 1, "{object}");
    assert_eq!(object["minimal"], "proved", "{object}");
}
