//! Criterion, for C and C++.

use super::framework::{Framework, Listed, Listing, has_no_thread};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Criterion",
    markers: &["libcriterion.so", "criterion_run_all_tests"],
    listing: &["--list", "--ascii"],
    second: None,
    empty: None,
    parse,
    select,
    ran_one,
    aborts: false,
    has_own_thread: has_no_thread,
    unsupported: Some(
        "Criterion runs each test in another process, which is not explored: call the test's \
         function from its own main and name that program",
    ),
};

/// `suite: 2 tests`, and below it the tests, each after a branch of a tree.
fn parse(listing: &Listing<'_>) -> Option<Vec<Listed>> {
    let mut suite = None;
    let mut tests = Vec::new();
    for line in listing.stdout.lines() {
        let branch =
            ["|-- ", "`-- ", "├── ", "└── "].iter().find_map(|mark| line.strip_prefix(mark));
        match (branch, suite) {
            (Some(test), Some(suite)) => {
                let name = test.trim_end().trim_end_matches(" (skipped)");
                let ignored = test.trim_end().ends_with(" (skipped)");
                tests.push(Listed { name: format!("{suite}/{name}"), ignored });
            }
            _ => {
                let heading = line.split_once(": ");
                suite = heading
                    .filter(|(_, count)| count.trim_end_matches('s').ends_with(" test"))
                    .map(|(suite, _)| suite);
            }
        }
    }
    (!tests.is_empty() || listing.stdout.trim().is_empty()).then_some(tests)
}

fn select(test: &Listed) -> Vec<String> {
    vec![format!("--filter={}", test.name), "--jobs=1".to_owned()]
}

fn ran_one(output: &str) -> bool {
    output.contains("Tested: 1 ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_tree_are_read() {
        for stdout in [
            "counter: 2 tests\n|-- lost\n`-- off (skipped)\n",
            "counter: 2 tests\n├── lost\n└── off (skipped)\n",
        ] {
            let listed = parse(&Listing { stdout, stderr: "" }).expect("a listing");
            assert_eq!(listed[0], Listed::new("counter/lost"));
            assert_eq!(listed[1], Listed { name: "counter/off".into(), ignored: true });
        }
        assert_eq!(parse(&Listing { stdout: "hello\n", stderr: "" }), None);
    }
}
