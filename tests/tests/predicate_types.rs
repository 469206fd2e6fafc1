//! Conditions in C++ and Rust: classes, references, containers and smart pointers of the standard
//! libraries, enumerations with data, thread-local variables.

use tests::heddle::Home;
use tests::targets::program;
use traces::report::Verdict;

/// Searches for a state in which `thread` is at the line with `// look` and the condition holds.
fn search(name: &str, thread: &str, condition: &str) -> (Verdict, String) {
    let program = program(name);
    let path = program.build().unwrap_or_else(|error| panic!("{}: {error}", program.name));
    let when = format!("{thread}@{}:\"// look\": {condition}", program.file);
    let home = Home::new();
    let options = ["explore", "--json", "--max-executions", "20", "--when", &when, "--"];
    let run = home.heddle(options.iter().copied().chain([&*path.to_string_lossy()]));
    assert!(run.status == 0 || run.status == 5, "{condition}: {run:?}");
    (run.report().verdict, format!("{run:?}"))
}

/// Each condition holds, and its negation does not.
fn all_hold(name: &str, thread: &str, conditions: &[&str]) {
    let all: Vec<String> = conditions.iter().map(|one| format!("({one})")).collect();
    for part in all.chunks(10) {
        if search(name, thread, &part.join(" && ")).0 == Verdict::Satisfied {
            continue;
        }
        for one in part {
            let (verdict, run) = search(name, thread, one);
            assert_eq!(verdict, Verdict::Satisfied, "{one}: {run}");
        }
    }
    for part in all.chunks(10) {
        let negated: Vec<String> = part.iter().map(|one| format!("!{one}")).collect();
        let (verdict, run) = search(name, thread, &negated.join(" || "));
        assert_ne!(verdict, Verdict::Satisfied, "{run}");
    }
}

#[test]
fn conditions_in_cpp() {
    all_hold(
        "predicate_types_cpp",
        "T1",
        &[
            "queue.items.size() == 1",
            "T1.this->items.size() == 1",
            "T1.other.items.size() == 1",
            "T1.other.id == 3",
            "queue.items[0] == 7",
            "!queue.items.empty()",
            "queue.colour == store::Colour::Green",
            "queue.colour == Green",
            "queue.colour != Colour::Red",
            "queue.flags == 5",
            "queue.level == -2",
            "queue.wide == 1",
            "queue.name.size() == 5",
            "queue.name.length() == 5",
            "!queue.name.empty()",
            "queue.name[0] == 'q'",
            "queue.grid.size() == 3",
            "queue.grid[2] == 12",
            "queue.links.size() == 2",
            "queue.tree.size() == 2",
            "queue.table.size() == 1",
            "Queue::made == 2",
            "store::Queue::made == 2",
            "queue.self->id == 3",
            "queue.alias == 3",
            "&queue.alias == &queue.id",
            "T1.alias == 2",
            "pointer->id == 3",
            "owned->id == 3",
            "owned->pushed == 0",
            "owned.get() == T1.raw",
            "owned != nullptr",
            "(*owned).id == 3",
            "shared->id == 3",
            "nothing == nullptr",
            "queue.pushed.load() == 1",
            "queue.pushed == 1",
            "T1.mine == 5",
            "T1.times == 2",
            "(long)queue.id == 3",
            "sizeof(queue.id) == 4",
            "::sink == 0",
        ],
    );
}

#[test]
fn conditions_in_rust() {
    all_hold(
        "predicate_types_rust",
        "one",
        &[
            "one.queue.limit == 4",
            "one.queue.limit == 4usize",
            "one.queue.items.len() == 1",
            "one.queue.items[0] == 1",
            "!one.queue.items.is_empty()",
            "one.part.len() == 1",
            "one.part[0] == 1",
            "one.name.len() == 3",
            "one.number == 1",
            "one.queue.colour == Colour::Green",
            "one.queue.open",
            "one.queue.letters.len() == 1",
            "one.last == Some(1)",
            "one.last != Some(2)",
            "one.last != None",
            "one.queue.last == Some(1)",
            "one.queue.last.is_some()",
            "one.queue.last.unwrap() == 1",
            "!one.queue.last.is_none()",
            "one.queue.next.is_some()",
            "one.queue.next != None",
            "one.queue.before.is_none()",
            "one.queue.before == None",
            "one.queue.before.is_none() || one.queue.before.unwrap() == 0",
            "one.queue.shape == Shape::Circle(5)",
            "one.queue.shape == Circle",
            "one.queue.shape != Shape::Dot",
            "one.queue.result.is_ok()",
            "one.queue.result == Ok(3)",
            "COUNT == 0",
            "COUNT.load(Ordering::SeqCst) == 0",
            "PLAIN == 0",
            "PLAIN as i64 == 0",
            "QUEUE.limit == 4",
            "QUEUE.items.len() == 1",
            "QUEUE.last.is_some()",
        ],
    );
}

#[test]
fn what_a_condition_cannot_read_is_refused() {
    let mut text = String::new();
    for (name, thread, condition) in [
        ("predicate_types_cpp", "T1", "queue.load > 1"),
        ("predicate_types_cpp", "T1", "queue.items.front() == 1"),
        ("predicate_types_cpp", "T1", "queue.lock.size() == 1"),
        ("predicate_types_cpp", "T1", "queue.items == 1"),
        ("predicate_types_cpp", "T1", "this->id == 1"),
        ("predicate_types_cpp", "T1", "mine == 1"),
        ("predicate_types_rust", "one", "one.queue.load > 1.0"),
        ("predicate_types_rust", "one", "one.queue.shape == Shape::Dott"),
        ("predicate_types_rust", "one", "one.queue.shape == 3"),
        ("predicate_types_rust", "one", "one.queue.shape"),
        ("predicate_types_rust", "one", "one.queue.items.first() == 1"),
        ("predicate_types_rust", "one", "one.queue.limit > -1"),
        ("predicate_types_rust", "one", "one.queue.limit.len() == 1"),
    ] {
        let program = program(name);
        let path = program.build().unwrap_or_else(|error| panic!("{}: {error}", program.name));
        let when = format!("{thread}@{}:\"// look\": {condition}", program.file);
        let home = Home::new();
        let run = home.heddle(["explore", "--when", &when, "--", &path.to_string_lossy()]);
        assert_eq!(run.status, 2, "{condition}: {run:?}");
        text += &run.stderr;
    }
    insta::assert_snapshot!("refused", text);
}
