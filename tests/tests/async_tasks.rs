//! Programs of asynchronous runtimes.

use std::collections::BTreeSet;
use tests::heddle::Home;
use tests::packages::package;
use traces::report::Verdict;

const TOKIO: &str =
    "tokio = { version = \"=1.54.1\", features = [\"rt-multi-thread\", \"macros\"] }";

/// Two tasks of tokio lose an update. Each prints the number that tokio gives it.
const DEPOSITS: &str = "use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

async fn deposit(balance: Arc<AtomicU32>) {
    println!(\"number {}\", tokio::task::id());
    let old = balance.load(SeqCst);
    balance.store(old + 1, SeqCst);
}

#[tokio::main(flavor = \"multi_thread\", worker_threads = 2)]
async fn main() {
    let balance = Arc::new(AtomicU32::new(0));
    let one = tokio::spawn(deposit(balance.clone()));
    let two = tokio::spawn(deposit(balance.clone()));
    one.await.unwrap();
    two.await.unwrap();
    assert_eq!(balance.load(SeqCst), 2);
}
";

/// The words after each occurrence of `before`, up to a character.
fn each_after<'a>(text: &'a str, before: &str, end: char) -> BTreeSet<&'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

#[test]
fn tasks_of_tokio_have_its_numbers_and_the_names_of_their_functions() {
    let home = Home::new();
    let Some(program) = package(&home, TOKIO, DEPOSITS) else { return };
    let report = home.explore(&["--max-executions", "20000"], &[&program]);
    assert_eq!(report.verdict, Verdict::Bug, "{report:?}");
    let bug = report.bugs.first().expect("a bug");
    let trace = bug.trace.clone().expect("a trace");

    let shown = home.heddle(["show", "--list", "--output", &trace]).stdout;
    let printed = each_after(&shown, "number ", '\n');
    let named: BTreeSet<&str> = each_after(&shown, "async task ", ')');
    let expected: BTreeSet<String> =
        printed.iter().map(|number| format!("{number} (uses_crate::deposit")).collect();
    assert_eq!(printed.len(), 2, "{shown}");
    assert_eq!(named, expected.iter().map(String::as_str).collect(), "{shown}");
    // Between its tasks a worker thread executes the runtime only.
    assert!(shown.contains("no async task"), "{shown}");

    // What the runtime does after the panic is no cause of it.
    let explained = home.heddle(["explain", &trace]).stdout;
    assert!(explained.contains("atomicity violation"), "{explained}");
    let cause = explained.split("\nCause\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    let cause = cause.unwrap_or_else(|| panic!("{explained}"));
    let named = cause.matches("(uses_crate::deposit): ").count();
    assert_eq!(named, cause.matches("      T").count(), "{cause}");
    for part in ["write balance", "read balance", "main.rs:6", "main.rs:7"] {
        assert!(cause.contains(part), "{part}: {cause}");
    }
    // The macro of the line to which tokio's macro assigns its code is no variable.
    assert!(!shown.contains(" assert_eq "), "{shown}");
}
