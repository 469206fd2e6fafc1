//! The first screen of the explorer on a failing trace says what `heddle explain` finds, without a
//! key.

use tests::heddle::Home;
use tests::parallel::check_all;
use tests::targets::program;
use tests::terminal::Terminal;

/// Benchmark programs with a bug of each kind, in C and in Rust.
const PROGRAMS: [&str; 4] = ["abba", "twostage", "pipe_release", "publication_rs"];

/// More of them, run if `HEDDLE_FIRST_SCREENS` is set.
const MORE: [&str; 16] = [
    "account",
    "wronglock",
    "locks_rs",
    "wakeup_rs",
    "tellers",
    "mutex_get_set",
    "order",
    "reorder",
    "bank",
    "lost_update",
    "work_stealing",
    "order_rs",
    "atomicity_rs",
    "aba_rs",
    "flag_lock",
    "lost_update_in_scope",
];

/// A program's failing trace.
fn trace(home: &Home, name: &str) -> String {
    let program = program(name);
    let path = program.build().expect("it compiles").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--", &path];
    args.extend(program.args.iter().map(String::as_str));
    let report = home.heddle(args).report();
    let bug = report.bugs.first().unwrap_or_else(|| panic!("{name} has no failure"));
    bug.trace.clone().expect("a trace")
}

/// What `heddle explain` says: the sentence, and what it is based on.
fn verdict(home: &Home, trace: &str) -> (String, String) {
    let explained = home.heddle(["explain", "--json", trace]);
    let page: serde_json::Value = explained.object();
    let text = |name: &str| page["verdict"][name].as_str().unwrap_or_default().to_owned();
    (text("text"), text("basis"))
}

/// The words of a screen: its lines may be broken anywhere between words.
fn words(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is missing on the first screen on a failing trace of a program; none if nothing is.
fn missing(name: &str) -> Option<String> {
    let home = Home::new();
    let trace = trace(&home, name);
    let (sentence, basis) = verdict(&home, &trace);
    // The page is about the smallest schedule.
    let smallest = trace.replace(".heddle", ".min.heddle");
    let trace = if home.path().join(&smallest).exists() { smallest } else { trace };
    if sentence.is_empty() || basis.is_empty() {
        return Some(format!("{name}: explain says {sentence:?}, {basis:?}"));
    }
    let mut terminal = Terminal::open(home, &["ui", &trace], (120, 40));
    // The check of the verdict has ended when its basis is shown.
    terminal.wait(&format!("{basis} of {name}"), |screen| words(screen).contains(&basis));
    let shown = words(&terminal.screen());
    terminal.press("q");
    terminal.end();
    (!shown.contains(&sentence)).then(|| format!("{name}: {sentence:?} is not in\n{shown}"))
}

#[test]
fn the_cause_is_readable_without_a_key() {
    let more = if std::env::var_os("HEDDLE_FIRST_SCREENS").is_some() { &MORE[..] } else { &[] };
    let names: Vec<&str> = PROGRAMS.iter().chain(more).copied().collect();
    check_all(&names, |name| missing(name));
}

/// A contended lock of Rust's standard library is one line, not the hundred turns in which it spins, and has a
/// holder.
#[test]
fn locks_of_rusts_library_are_locks() {
    let home = Home::new();
    let trace = trace(&home, "locks_rs");
    let mut terminal = Terminal::open(home, &["ui", &trace], (120, 40));
    terminal.wait("locks that are held and awaited", |screen| {
        ["L LEFT", "L RIGHT", "… waits for LEFT", "… waits for RIGHT", "held by T2"]
            .iter()
            .all(|text| screen.contains(text))
    });
    terminal.press("q");
    assert_eq!(terminal.end().0, 0);
}
