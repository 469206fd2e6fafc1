//! doctest.

use super::framework::{Framework, Listed, Listing, Second, has_no_thread};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "doctest",
    markers: &["[doctest] "],
    listing: &["--list-test-cases", "--no-colors", "--no-version"],
    second: Some(Second::All(&["--list-test-cases", "--no-colors", "--no-version", "--no-skip"])),
    empty: None,
    parse,
    select,
    ran_one,
    aborts: false,
    has_own_thread: has_no_thread,
    unsupported: None,
};

/// The names are the lines between two rules.
fn parse(listing: &Listing<'_>) -> Option<Vec<Listed>> {
    let is_rule = |line: &&str| line.len() >= 40 && line.bytes().all(|byte| byte == b'=');
    let (_, list) = listing.stdout.split_once("[doctest] listing all test case names")?;
    let lines: Vec<&str> = list.lines().collect();
    let first = lines.iter().position(is_rule)?;
    let last = lines.iter().rposition(is_rule).filter(|&last| last > first)?;
    Some(lines[first + 1..last].iter().map(|&line| Listed::new(line)).collect())
}

/// The name as a pattern: a comma separates patterns.
fn select(test: &Listed) -> Vec<String> {
    let pattern = test.name.replace('\\', "\\\\").replace(',', "\\,");
    let mut words = vec![
        format!("--test-case={pattern}"),
        "--case-sensitive".to_owned(),
        "--no-colors".to_owned(),
    ];
    if test.ignored {
        words.push("--no-skip".to_owned());
    }
    words
}

/// `[doctest] test cases: 1 | 1 passed | ...`; padded to a column in some versions.
fn ran_one(output: &str) -> bool {
    let count = |line: &str| {
        let rest = line.strip_prefix("[doctest] test cases:")?;
        rest.split('|').next()?.trim().parse::<u64>().ok()
    };
    output.lines().filter_map(count).eq([1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_between_the_rules() {
        let rule = "=".repeat(79);
        let stdout = format!(
            "[doctest] listing all test case names\n{rule}\nlost, update\nkept\n{rule}\n\
             [doctest] unskipped test cases passing the current filters: 2\n"
        );
        let listed = parse(&Listing { stdout: &stdout, stderr: "" }).expect("a listing");
        assert_eq!(listed, [Listed::new("lost, update"), Listed::new("kept")]);
        assert_eq!(select(&listed[0])[0], "--test-case=lost\\, update");
        assert_eq!(parse(&Listing { stdout: "something else", stderr: "" }), None);
        let all = vec![Listed::new("kept"), Listed::new("off")];
        let combined = FRAMEWORK.combine(vec![Listed::new("kept")], all);
        assert_eq!(combined.iter().map(|test| test.ignored).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn a_run_of_one_test_is_recognised() {
        assert!(ran_one("[doctest] test cases: 1 | 1 passed | 0 failed | 3 skipped\n"));
        assert!(!ran_one("[doctest] test cases: 0 | 0 passed | 0 failed | 4 skipped\n"));
    }
}
