//! The tests of GLib.

use super::framework::{Framework, Listed, Listing, has_no_thread};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "GLib",
    markers: &["g_test_init"],
    listing: &["-l"],
    second: None,
    empty: None,
    parse,
    select,
    ran_one,
    aborts: true,
    has_own_thread: has_no_thread,
    unsupported: None,
};

/// Paths, one on each line; comments and the plan of the Test Anything Protocol beside them.
fn parse(listing: &Listing<'_>) -> Option<Vec<Listed>> {
    let tests: Vec<Listed> =
        listing.stdout.lines().filter(|line| line.starts_with('/')).map(Listed::new).collect();
    let is_protocol = |line: &str| line.starts_with('#') || line.starts_with("1..");
    (!tests.is_empty() || listing.stdout.lines().all(is_protocol)).then_some(tests)
}

/// `-p PATH` also runs the tests below PATH; [`ran_one`] detects that more than one test ran.
fn select(test: &Listed) -> Vec<String> {
    ["--tap", "-p", &test.name].map(str::to_owned).to_vec()
}

/// One result, or an end before it.
fn ran_one(output: &str) -> bool {
    let results =
        output.lines().filter(|line| line.starts_with("ok ") || line.starts_with("not ok "));
    results.count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_tests() {
        let stdout = "# random seed: R02S1\n1..2\n# Start of counter tests\n/counter/lost\n";
        let listed = parse(&Listing { stdout, stderr: "" });
        assert_eq!(listed, Some(vec![Listed::new("/counter/lost")]));
        assert_eq!(parse(&Listing { stdout: "usage: x\n", stderr: "" }), None);
        assert!(ran_one("# seed\n1..1\nok 1 /counter/lost\n"));
        assert!(!ran_one("1..0\n"));
    }
}
