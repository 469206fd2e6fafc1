//! Boost.Test.

use super::framework::{Framework, Listed, Listing, has_no_thread};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Boost.Test",
    markers: &["BOOST_TEST_", "libboost_unit_test_framework"],
    listing: &["--list_content", "--color_output=no"],
    second: None,
    empty: None,
    parse,
    select,
    ran_one,
    aborts: false,
    has_own_thread: has_no_thread,
    unsupported: None,
};

/// A tree on standard error, four spaces for each level; `*` after a name that is not disabled.
fn parse(listing: &Listing<'_>) -> Option<Vec<Listed>> {
    let units: Vec<(usize, &str, bool)> = listing.stderr.lines().filter_map(unit).collect();
    if units.is_empty() && !listing.stderr.trim().is_empty() {
        return None;
    }
    let mut path: Vec<(&str, bool)> = Vec::new();
    let mut tests = Vec::new();
    for (at, &(depth, name, enabled)) in units.iter().enumerate() {
        path.truncate(depth);
        if path.len() < depth {
            return None;
        }
        path.push((name, enabled));
        let has_children = units.get(at + 1).is_some_and(|next| next.0 > depth);
        if !has_children {
            let names: Vec<&str> = path.iter().map(|(name, _)| *name).collect();
            let ignored = path.iter().any(|(_, enabled)| !enabled);
            tests.push(Listed { name: names.join("/"), ignored });
        }
    }
    Some(tests)
}

/// The depth and name of a test or suite, and whether it is enabled. After the name may come a
/// description (`name*: text`).
fn unit(line: &str) -> Option<(usize, &str, bool)> {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let name = text.split(": ").next()?.trim_end();
    let plain = name.trim_end_matches('*');
    let is_name = !plain.is_empty() && !plain.contains(' ');
    (indent.is_multiple_of(4) && is_name).then_some((indent / 4, plain, name.ends_with('*')))
}

/// A signal is left to Heddle, which reports its place.
fn select(test: &Listed) -> Vec<String> {
    vec![
        format!("--run_test={}", test.name),
        "--catch_system_errors=no".to_owned(),
        "--color_output=no".to_owned(),
    ]
}

fn ran_one(output: &str) -> bool {
    output.lines().any(|line| line.starts_with("Running 1 test case"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_gives_paths() {
        let stderr = "counter*\n    lost*\n    deep*: with words\n        kept*\nplain*\noff \n";
        let listed = parse(&Listing { stdout: "", stderr }).expect("a listing");
        let names: Vec<&str> = listed.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["counter/lost", "counter/deep/kept", "plain", "off"]);
        assert_eq!(
            listed.iter().map(|t| t.ignored).collect::<Vec<_>>(),
            [false, false, false, true]
        );
        assert_eq!(parse(&Listing { stdout: "", stderr: "unknown option: x\n  y\n" }), None);
    }
}
