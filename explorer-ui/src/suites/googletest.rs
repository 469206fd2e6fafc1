//! GoogleTest.

use super::framework::{Framework, Listed, Listing, has_no_thread};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "googletest",
    markers: &["GTEST_TOTAL_SHARDS", "libgtest.so", "7testing14InitGoogleTest"],
    listing: &["--gtest_list_tests", "--gtest_color=no"],
    second: None,
    empty: None,
    parse,
    select,
    ran_one,
    aborts: false,
    has_own_thread: has_no_thread,
    unsupported: None,
};

/// `Suite.`, and below it the tests, indented by two spaces; `# ` begins a comment.
fn parse(listing: &Listing<'_>) -> Option<Vec<Listed>> {
    let mut suite: Option<&str> = None;
    let mut tests = Vec::new();
    for line in listing.stdout.lines() {
        let words = line.split("  # ").next().unwrap_or_default();
        match (words.strip_prefix("  "), suite) {
            (Some(test), Some(suite)) if !test.starts_with(' ') && !test.is_empty() => {
                let name = format!("{suite}.{test}");
                let ignored = name.split(['.', '/']).any(|part| part.starts_with("DISABLED_"));
                tests.push(Listed { name, ignored });
            }
            (None, _) => suite = words.strip_suffix('.').filter(|name| !name.contains(' ')),
            _ => {}
        }
    }
    (!tests.is_empty() || listing.stdout.trim().is_empty()).then_some(tests)
}

/// An exception ends the process, so that its own place is reported, not the framework's.
fn select(test: &Listed) -> Vec<String> {
    let mut words = vec![
        format!("--gtest_filter={}", test.name),
        "--gtest_catch_exceptions=0".to_owned(),
        "--gtest_color=no".to_owned(),
    ];
    if test.ignored {
        words.push("--gtest_also_run_disabled_tests".to_owned());
    }
    words
}

fn ran_one(output: &str) -> bool {
    output.lines().any(|line| line.starts_with("[==========] Running 1 test "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_have_the_name_of_their_suite() {
        let stdout = "Running main() from gtest_main.cc\nCounter.\n  Lost\n  DISABLED_Off\n\
                      Some/P.\n  Is/0  # GetParam() = 1\nTyped/0.  # TypeParam = int\n  Works\n";
        let listed = parse(&Listing { stdout, stderr: "" }).expect("a listing");
        let names: Vec<&str> = listed.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["Counter.Lost", "Counter.DISABLED_Off", "Some/P.Is/0", "Typed/0.Works"]);
        assert_eq!(listed.iter().filter(|test| test.ignored).count(), 1);
        assert!(select(&listed[1]).contains(&"--gtest_also_run_disabled_tests".to_owned()));
        assert_eq!(parse(&Listing { stdout: "3 checks passed.\n", stderr: "" }), None);
    }

    #[test]
    fn a_run_of_one_test_is_recognised() {
        assert!(ran_one("x\n[==========] Running 1 test from 1 test suite.\n"));
        assert!(!ran_one("[==========] Running 0 tests from 0 test suites.\n"));
    }
}
