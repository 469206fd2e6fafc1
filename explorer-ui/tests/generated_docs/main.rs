//! Files in docs/ that are generated from the program. With `HEDDLE_UPDATE_DOCS=1` in the environment,
//! the tests rewrite a file that is out of date; otherwise they fail.

mod library_functions;
mod messages;
mod untested;

use explorer_ui::cli::arguments::Cli;
use std::fs;
use std::path::Path;

/// Compares a file of docs/ with its expected text, or writes it.
fn check(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    let text = fs::read_to_string(&path).unwrap_or_default();
    if text == expected {
        return;
    }
    if std::env::var_os("HEDDLE_UPDATE_DOCS").is_some() {
        return fs::write(&path, expected).expect("docs/ is writable");
    }
    let line = text.lines().zip(expected.lines()).take_while(|(old, new)| old == new).count() + 1;
    panic!(
        "docs/{name} is out of date from line {line} on; update it with \
         HEDDLE_UPDATE_DOCS=1 cargo test -p explorer-ui --test generated_docs"
    );
}

#[test]
fn command_reference() {
    let options = clap_markdown::MarkdownOptions::new()
        .title("Command reference".to_owned())
        .show_footer(false);
    let text = clap_markdown::help_markdown_custom::<Cli>(&options);
    check("commands.md", &text);
}

#[test]
fn library_function_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    check("library-functions.md", &library_functions::markdown(&root));
}

#[test]
fn message_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    check("messages.md", &messages::markdown(&root));
}

/// The list only gets shorter: `HEDDLE_UPDATE_UNTESTED=1` deletes the messages that a test expects now
/// or that no longer exist, and adds none. A new message needs a test.
#[test]
fn untested_messages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join("explorer-ui/tests/generated_docs/untested.txt");
    let found = untested::untested(&root);
    let listed = fs::read_to_string(&path).expect("the list of messages without a test");
    let listed: Vec<&str> = listed.lines().collect();
    let new: Vec<&str> = found.iter().map(String::as_str).filter(|m| !listed.contains(m)).collect();
    let is_found = |line: &&str| found.iter().any(|message| message == line);
    let (left, tested): (Vec<&str>, Vec<&str>) = listed.iter().copied().partition(is_found);
    if !tested.is_empty() && std::env::var_os("HEDDLE_UPDATE_UNTESTED").is_some() {
        let text: String = left.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, text).expect("the list is writable");
    } else {
        assert!(
            tested.is_empty(),
            "tests expect these messages now, or they no longer exist; delete them from untested.txt \
             (HEDDLE_UPDATE_UNTESTED=1 does so):\n{}",
            tested.join("\n")
        );
    }
    assert!(
        new.is_empty(),
        "no test expects these messages: add a case to tests/bad-input, or another test:\n{}",
        new.join("\n")
    );
}

#[test]
fn server_methods() {
    check("serve.md", &explorer_ui::serve::markdown());
    let schema = explorer_ui::serve::registry::schema();
    let text = serde_json::to_string_pretty(&schema).expect("a value") + "\n";
    check("serve.schema.json", &text);
}
