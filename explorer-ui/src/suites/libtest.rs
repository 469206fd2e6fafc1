//! Rust's own test harness, and harnesses with the same options.

use super::framework::{Framework, Listed, Listing, Second};
use traces::TaskRecord;

pub(super) const FRAMEWORK: Framework = Framework {
    name: "libtest",
    markers: &["RUST_TEST_THREADS", "libtest_mimic"],
    listing: &["--list", "--format", "terse"],
    second: Some(Second::Ignored(&["--list", "--format", "terse", "--ignored"])),
    empty: Some(&["--list", "--format", "terse", "--exact", "no test has this name"]),
    parse,
    select,
    ran_one,
    has_own_thread,
    unsupported: None,
};

/// Lines `NAME: test`. Benchmarks (`NAME: benchmark`) are left out: they run no assertions.
fn parse(listing: &Listing<'_>) -> Option<Vec<Listed>> {
    let tests: Vec<Listed> = listing
        .stdout
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(Listed::new)
        .collect();
    let is_listing =
        |line: &str| line.is_empty() || line.ends_with(": test") || line.ends_with(": benchmark");
    (!tests.is_empty() || listing.stdout.lines().all(is_listing)).then_some(tests)
}

/// One thread, and no capture of the output: the harness then does least beside the test.
fn select(test: &Listed) -> Vec<String> {
    let mut words = vec!["--exact", &test.name, "--nocapture", "--test-threads=1"];
    if test.ignored {
        words.push("--ignored");
    }
    words.into_iter().map(str::to_owned).collect()
}

fn ran_one(output: &str) -> bool {
    output.lines().any(|line| line == "running 1 test")
}

/// The harness runs the test in a thread that has the test's name, of which the kernel keeps 15
/// bytes, unless it runs the test in the main thread.
fn has_own_thread(tasks: &[TaskRecord], test: &str) -> bool {
    let is_test = |task: &TaskRecord| {
        task.parent == Some(traces::TaskId::MAIN)
            && !task.name.is_empty()
            && test.as_bytes().starts_with(task.name.as_bytes())
    };
    tasks.iter().any(is_test)
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::TaskId;

    #[test]
    fn tests_are_listed_without_benchmarks_and_printed_lines() {
        let stdout = "a constructor prints this\nqueue::lost: test\nqueue::fast: benchmark\n";
        let listed = parse(&Listing { stdout, stderr: "" });
        assert_eq!(listed, Some(vec![Listed::new("queue::lost")]));
        assert_eq!(parse(&Listing { stdout: "", stderr: "" }), Some(Vec::new()));
        assert_eq!(parse(&Listing { stdout: "all 3 checks passed\n", stderr: "" }), None);
    }

    #[test]
    fn the_second_listing_marks_ignored_tests() {
        let all = vec![Listed::new("a"), Listed::new("b")];
        let combined = FRAMEWORK.combine(all, vec![Listed::new("b")]);
        assert_eq!(combined.iter().map(|test| test.ignored).collect::<Vec<_>>(), [false, true]);
        assert!(select(&combined[1]).contains(&"--ignored".to_owned()));
        assert!(!select(&combined[0]).contains(&"--ignored".to_owned()));
    }

    #[test]
    fn the_thread_of_the_test_belongs_to_the_harness() {
        let task = |name: &str, parent| TaskRecord {
            name: name.to_owned(),
            parent,
            ..TaskRecord::default()
        };
        let main = task("transfers", None);
        let test = task("tests::lost_upd", Some(TaskId::MAIN));
        let spawned = task("", Some(TaskId(1)));
        let name = "tests::lost_update";
        assert!(has_own_thread(&[main.clone(), test, spawned.clone()], name));
        assert!(!has_own_thread(&[main, spawned], name));
    }
}
