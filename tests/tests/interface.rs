//! `interface.txt` lists every function that the thread library's headers declare, and how Heddle
//! treats a call: a forgotten function would cause wrong verdicts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tests::headers::preprocessed;

/// How a call by the program under control is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// The runtime interposes its own function.
    Modelled,
    /// The C library's function runs; what it waits for or changes is modelled at a lower level.
    Passed,
    /// It ends the execution with a failure that names it.
    Unsupported,
}

const TABLE: &str = include_str!("interface.txt");
const HEADERS: [&str; 4] = ["pthread.h", "semaphore.h", "threads.h", "sched.h"];

fn table() -> BTreeMap<&'static str, Fate> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut table = BTreeMap::new();
    for line in lines {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a name");
        let fate = match words.next() {
            Some("modelled") => Fate::Modelled,
            Some("passed") => Fate::Passed,
            Some("unsupported") => Fate::Unsupported,
            other => panic!("{name}: {other:?}"),
        };
        assert!(table.insert(name, fate).is_none(), "{name} is listed twice");
    }
    table
}

/// The names of the functions that a header declares, directly or through its parts in `bits`.
fn declared(header: &str) -> Vec<String> {
    let mut text = String::new();
    let mut ours = false;
    for line in preprocessed(&[header]).lines() {
        if let Some(marker) = line.strip_prefix("# ") {
            let file = marker.split('"').nth(1).unwrap_or_default();
            ours = HEADERS.iter().any(|header| file.ends_with(&format!("/{header}")))
                || ["sched", "cpu-set", "semaphore", "pthread", "thread"]
                    .iter()
                    .any(|part| file.contains(&format!("/bits/{part}")));
        } else if ours {
            text.push_str(line);
            text.push(' ');
        }
    }
    // A declaration's name is the first word before a parenthesis.
    let names = text.split(';').filter_map(|declaration| {
        let declaration = declaration.trim().strip_prefix("extern ")?;
        let before = declaration.split('(').next()?.trim_end();
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        Some(before[start..].to_owned()).filter(|name| !name.is_empty())
    });
    names.collect()
}

/// The text of all files of the runtime.
fn runtime() -> String {
    fn read(directory: &Path, into: &mut String) {
        for entry in fs::read_dir(directory).expect("the runtime's sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                read(&path, into);
            } else {
                into.push_str(&fs::read_to_string(&path).expect("a source file"));
            }
        }
    }
    let mut text = String::new();
    read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../probes/src")), &mut text);
    text
}

#[test]
fn every_function_of_the_headers_is_in_the_table() {
    let table = table();
    for header in HEADERS {
        let names = declared(header);
        assert!(names.len() > 10, "{header} is not understood: {names:?}");
        let missing: Vec<_> = names.iter().filter(|name| !table.contains_key(&***name)).collect();
        assert!(missing.is_empty(), "{header}: list {missing:?} in interface.txt");
    }
}

/// The words of the programs that check conformance with the standard.
fn checked() -> std::collections::HashSet<String> {
    let mut words = std::collections::HashSet::new();
    let targets = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/targets"));
    for entry in fs::read_dir(targets).expect("the programs") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("conform_") && name.ends_with(".c") {
            let text = fs::read_to_string(&path).expect("a program");
            let all = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.extend(all.map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_supported_function_is_called_by_a_conformance_program() {
    let (table, checked) = (table(), checked());
    let missing: Vec<String> = HEADERS
        .iter()
        .flat_map(|header| declared(header))
        // Names that begin with two underscores are for the headers' own macros.
        .filter(|name| !name.starts_with("__"))
        .filter(|name| table.get(&**name).is_some_and(|&fate| fate != Fate::Unsupported))
        .filter(|name| !checked.contains(name))
        .collect();
    assert!(missing.is_empty(), "no program `conform_*.c` calls {missing:?}");
}

#[test]
fn the_table_agrees_with_the_runtime() {
    let text = runtime();
    let words: std::collections::HashSet<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for (name, fate) in table() {
        let takes_its_place = text.contains(&format!("    fn {name}("));
        match fate {
            Fate::Modelled => assert!(takes_its_place, "{name} is not modelled"),
            Fate::Passed => assert!(!takes_its_place, "{name} is modelled"),
            Fate::Unsupported => {
                assert!(!takes_its_place, "{name} is modelled");
                assert!(words.contains(name), "{name} is not named");
            }
        }
    }
}
