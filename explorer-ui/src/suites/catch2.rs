//! Catch2, versions 2 and 3.

use super::framework::{Framework, Listed, Listing, has_no_thread};

/// Version 2 has an option that lists names only.
pub(super) const VERSION_2: Framework = Framework {
    name: "Catch2",
    markers: &["--list-test-names-only"],
    listing: &["--list-test-names-only"],
    second: None,
    empty: None,
    parse,
    select,
    ran_one,
    aborts: false,
    has_own_thread: has_no_thread,
    unsupported: None,
};

/// Version 3 lists names only if it is quiet.
pub(super) const VERSION_3: Framework = Framework {
    markers: &["Catch2 v3.", "libCatch2.so", "5Catch7Session"],
    listing: &["--list-tests", "--verbosity", "quiet"],
    ..VERSION_2
};

/// One name on each line. Both versions put a name that begins with `#` in quotation marks.
fn parse(listing: &Listing<'_>) -> Option<Vec<Listed>> {
    if listing.stderr.contains("Error(s) in input") || listing.stdout.contains("Error(s) in input")
    {
        return None;
    }
    let name = |line: &str| {
        let inner = line.strip_prefix("\"#").and_then(|rest| rest.strip_suffix('"'));
        inner.map_or_else(|| line.to_owned(), |rest| format!("#{rest}"))
    };
    let lines = listing.stdout.lines().map(str::trim_end).filter(|line| !line.is_empty());
    Some(lines.map(|line| Listed::new(name(line))).collect())
}

/// The name as a pattern: a comma separates patterns, a bracket begins a tag, and `*` at either end
/// matches any text.
fn select(test: &Listed) -> Vec<String> {
    let mut pattern = String::new();
    for letter in test.name.chars() {
        if matches!(letter, ',' | '[' | '\\' | '"' | '~') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    vec![pattern]
}

/// The last line has the number of test cases; without a test there is no such line.
fn ran_one(output: &str) -> bool {
    let one = |line: &str| {
        line.starts_with("All tests passed") && line.ends_with(" in 1 test case)")
            || line.starts_with("test cases: 1 |")
    };
    output.lines().any(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lines_and_patterns_match_one() {
        let stdout = "lost, update [1]\n\"#hash\"\nkept\n";
        let listed = parse(&Listing { stdout, stderr: "" }).expect("a listing");
        let names: Vec<&str> = listed.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["lost, update [1]", "#hash", "kept"]);
        assert_eq!(select(&listed[0]), ["lost\\, update \\[1]"]);
    }

    #[test]
    fn a_run_of_one_test_is_recognised() {
        assert!(ran_one("===\nAll tests passed (1 assertion in 1 test case)\n\n"));
        assert!(ran_one("test cases: 1 | 1 failed\nassertions: 1 | 1 failed\n"));
        assert!(!ran_one("test cases: 10 | 1 failed\n"));
        assert!(!ran_one("No test cases matched 'x'\nNo tests ran\n"));
    }
}
