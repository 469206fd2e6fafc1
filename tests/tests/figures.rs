//! The command that measures what `docs/figures.md` shows.

use std::path::Path;
use tests::figures::goals::GOALS;
use tests::figures::list::{Source, TABLES, named};
use tests::figures::run;
use tests::pages::blocks;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/figures.md");
    std::fs::read_to_string(path).expect("the page is there")
}

/// The status, standard output and standard error.
fn figures(args: &[&str]) -> (i32, String, String) {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let status = run(&args, &mut out, &mut errors).expect("a vector can be written");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status, text(out), text(errors))
}

/// A heading is in the list, also one whose figures no command prints: the list says why.
#[test]
fn every_heading_of_the_page_is_in_the_list() {
    let page = page();
    let headings = page.lines().filter_map(|line| {
        line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")).map(str::trim)
    });
    let headings: Vec<&str> = headings.collect();
    for heading in &headings {
        assert!(TABLES.iter().any(|table| table.heading == *heading), "{heading} has no table");
    }
    for table in TABLES {
        assert!(
            headings.contains(&table.heading),
            "{}: the page has no {}",
            table.name,
            table.heading
        );
    }
}

/// The names of tables that the page gives, each with the heading above it.
fn named_on_the_page(page: &str) -> Vec<(&str, &str)> {
    let (mut heading, mut found) = ("", Vec::new());
    for line in page.lines() {
        if let Some(text) = line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")) {
            heading = text;
        }
        let after = line.split("Table `").skip(1);
        found.extend(after.filter_map(|text| Some((text.split_once('`')?.0, heading))));
    }
    found
}

#[test]
fn the_page_names_every_table_below_its_heading() {
    let page = page();
    let found = named_on_the_page(&page);
    for table in TABLES.iter().filter(|table| !matches!(table.source, Source::Nothing(_))) {
        let pair = (table.name, table.heading);
        assert!(found.contains(&pair), "{pair:?} is not on the page: {found:?}");
    }
    for (name, heading) in found {
        assert!(named(name).is_some_and(|table| table.heading == heading), "{name}: {heading}");
    }
}

/// A table has no second command beside this one.
#[test]
fn every_command_of_the_page_runs_tables_of_the_list() {
    let page = page();
    let lines: Vec<String> = page.lines().map(str::to_owned).collect();
    for block in blocks(&lines).iter().filter(|block| block.is_commands()) {
        for line in &lines[block.first..block.end] {
            let command = line.split('#').next().unwrap_or_default().trim();
            let words = command.strip_prefix("cargo run --release -p tests --example figures");
            let words = words.unwrap_or_else(|| panic!("another command: {line}"));
            for word in words.split_whitespace().filter(|word| !word.starts_with('-')) {
                assert!(named(word).is_some(), "no table of the list: {line}");
            }
        }
    }
}

#[test]
fn every_goal_names_a_table_that_a_command_prints() {
    for goal in GOALS {
        let table = named(goal.table).unwrap_or_else(|| panic!("{goal:?} names no table"));
        assert!(!matches!(table.source, Source::Nothing(_)), "{goal:?}");
    }
}

#[test]
fn names_of_tables_are_different() {
    for (at, table) in TABLES.iter().enumerate() {
        assert!(TABLES[..at].iter().all(|other| other.name != table.name), "{}", table.name);
    }
}

#[test]
fn a_table_that_does_not_exist_is_one_clear_line() {
    let (status, out, errors) = figures(&["speed", "sped"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert_eq!(errors, "no table \"sped\"; --list prints their names\n");
    let (status, _, errors) = figures(&["--fast"]);
    assert_eq!((status, errors.lines().count()), (2, 1), "{errors}");
}

#[test]
fn the_list_names_every_table() {
    let (status, out, _) = figures(&["--list"]);
    assert_eq!((status, out.lines().count()), (0, TABLES.len()), "{out}");
}

/// One table is measured; another one, which nothing measures, is named, and its absence is no failure.
#[test]
fn a_cheap_table_is_measured_and_an_absent_one_named() {
    let (status, out, _) = figures(&["--quick", "complete-abstract", "suites"]);
    assert_eq!(status, 0, "{out}");
    for part in [
        "* processor: ",
        "* commit: ",
        "## Complete searches: complete-abstract",
        "| lastzero 15 | 147456 | 1000 |",
        "Not measured: no command prints it",
        "## Goals",
        "| speed: 2x1 | shuttle | - | at least 2.0 | not measured: the table was not asked for |",
    ] {
        assert!(out.contains(part), "{part:?} is not in\n{out}");
    }
}
