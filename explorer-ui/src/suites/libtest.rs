//! Rust's own test harness, and harnesses with the same options.

use super::framework::{Framework, Listed, Listing, Second};
use traces::TaskRecord;

pub(super) const FRAMEWORK: Framework = Framework {
    name: "libtest",
    markers: &["RUST_TEST_THREADS", "libtest_mimic"],
    listing: &["--list", "--format", "terse"],
    second: Some(Second::Ignored(&["--list", "--format", "terse", "--ignored"])),
    empty: Some(&["--list", "--format", "terse", "--exact", "::"]),
    parse,
    select,
    ran_one,
    aborts: false,
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

/// What a test that ran alone printed, without the lines of the harness: readers of the harness's output would
/// take them for results.
#[must_use]
pub fn without_harness(output: &str, test: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    let is_result = |line: &str| line.starts_with("test result: ");
    let tail = lines.iter().rposition(|line| is_result(line)).map_or(lines.len(), |end| {
        let heading = |at: &usize| lines[*at] == "failures:";
        (0..end).find(heading).unwrap_or(end)
    });
    let title = format!("test {test}");
    let (heading, name) = (format!("---- {test} stdout ----"), format!("    {test}"));
    let mut kept: Vec<&str> = Vec::new();
    for (at, &line) in lines.iter().enumerate() {
        let own = match line.strip_prefix(&title).and_then(|rest| rest.split_once(" ... ")) {
            Some(("" | " - should panic", rest)) if at < tail => rest,
            _ => line,
        };
        let last = lines[at + 1..tail.max(at + 1)].iter().all(|line| line.is_empty());
        let is_end = at < tail && last && ["ok", "FAILED"].contains(&own);
        let is_own = own != line && own.is_empty();
        let is_summary = at >= tail
            && (line == "failures:" || line == heading || line == name || is_result(line));
        if is_end || is_own || is_summary || line == "running 1 test" {
            continue;
        }
        kept.push(own);
    }
    kept.join("\n").trim_matches('\n').to_owned()
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
    fn the_lines_of_the_harness_are_no_output_of_the_test() {
        for (output, expected) in [
            (
                "\nrunning 1 test\ntest a::lost ... \nthread 'a::lost' panicked at a.rs:7:5:\nlost\nnote: run \
                 it\nFAILED\n\nfailures:\n\nfailures:\n    a::lost\n\ntest result: FAILED. 0 passed; 1 failed; 0 \
                 ignored\n\n",
                "thread 'a::lost' panicked at a.rs:7:5:\nlost\nnote: run it",
            ),
            (
                "\nrunning 1 test\ntest a::lost ... Error: NotFound\nFAILED\n\nfailures:\n\nfailures:\n    \
                 a::lost\n\ntest result: FAILED. 0 passed; 1 failed\n",
                "Error: NotFound",
            ),
            (
                "\nrunning 1 test\ntest a::lost - should panic ... FAILED\n\nfailures:\n\n---- a::lost stdout \
                 ----\nnote: test did not panic as expected at a.rs:7:5\n\nfailures:\n    a::lost\n\ntest \
                 result: FAILED. 0 passed; 1 failed\n",
                "note: test did not panic as expected at a.rs:7:5",
            ),
            // It deadlocked, so that the harness printed no result.
            (
                "\nrunning 1 test\ntest a::lost ... locked\nfailures:\nok\nand more\n",
                "locked\nfailures:\nok\nand more",
            ),
        ] {
            let own = without_harness(output, "a::lost");
            let lines = |text: &str| -> Vec<String> {
                text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
            };
            assert_eq!(lines(&own), lines(expected), "{output}");
        }
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
