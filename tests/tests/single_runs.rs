//! `heddle run` runs the program once, as its user would see it.

use std::fs;
use std::time::Duration;
use tests::debugging::compiled_text;
use tests::heddle::{Home, run};
use traces::report::Report;

const BOUND: Duration = Duration::from_secs(60);

/// The text of a C program with these functions.
fn program(functions: &str) -> String {
    let headers = ["pthread", "stdio", "stdlib", "fcntl", "unistd", "string", "sys/stat"];
    let headers: String = headers.map(|name| format!("#include <{name}.h>\n")).concat();
    headers + functions
}

const TWO_THREADS: &str = "
static void *add(void *sum) { ++*(volatile long *)sum; return 0; }
static long two(void) {
    long sum = 0;
    pthread_t one, other;
    pthread_create(&one, 0, add, &sum);
    pthread_create(&other, 0, add, &sum);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return sum;
}
";

/// Regression test: the learning phase ran before, about 25 executions, and afterwards the recorded one ran
/// again to see whether it needs its environment.
#[test]
fn a_program_with_effects_runs_once() {
    let home = Home::new();
    let text = "
int main(void) {
    int log = open(getenv(\"LOG\"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    return write(log, \"once\\n\", 5) == 5 && two() == 2 ? 0 : 1;
}
";
    let path = compiled_text(&home, "appends", &program(&(TWO_THREADS.to_owned() + text)), &[]);
    let log = home.path().join("log");
    let mut command = home.command(["run", "--", &path]);
    command.env("LOG", &log).env("UNREAD", "never read");
    let run = run(command, BOUND);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(fs::read_to_string(&log).expect("it was written"), "once\n");
    let shown = home.heddle(["show", "--environment", run.trace()]).stdout;
    assert!(shown.contains("UNREAD=never read"), "{shown}");
    let why = "All values are kept because the program changes state outside of its memory, so the execution \
               was not repeated without them.";
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn a_program_without_effects_leaves_no_values_that_it_does_not_read() {
    let home = Home::new();
    let text = program(&(TWO_THREADS.to_owned() + "int main(void) { return two() != 2; }\n"));
    let path = compiled_text(&home, "adds", &text, &[]);
    let mut command = home.command(["run", "--", &path]);
    command.env("UNREAD", "never read");
    let run = run(command, BOUND);
    assert_eq!(run.status, 0, "{run:?}");
    let shown = home.heddle(["show", "--environment", run.trace()]).stdout;
    assert!(shown.contains("UNREAD (not read by the program"), "{shown}");
}

const WAITS: &str = "
static volatile int ready;
static void *set(void *arg) { ready = 1; return arg; }
static int await(void) {
    pthread_t setter;
    pthread_create(&setter, 0, set, 0);
    while (!ready) { }
    pthread_join(setter, 0);
    return 0;
}
";

/// Without learned points a thread that waits in a loop cannot be seen to wait.
#[test]
fn a_thread_that_waits_in_a_loop_is_seen_after_learning() {
    let home = Home::new();
    let text = program(&(WAITS.to_owned() + "int main(void) { return await(); }\n"));
    let path = compiled_text(&home, "waits", &text, &[]);
    let report: Report = home.heddle(["run", "--json", "--", &path]).object();
    assert!(report.bugs.is_empty() && report.notes.is_empty(), "{report:?}");
    let run = home.heddle(["run", "--", &path]);
    assert_eq!(run.status, 0, "{run:?}");
    let shown = home.heddle(["show", run.trace()]).stdout;
    assert!(shown.contains("read") && shown.contains("ready"), "{shown}");
}

/// What the loop waits for is not seen, but to run the program again would change more.
#[test]
fn a_thread_that_waits_in_a_loop_after_an_effect_is_reported_with_what_to_do() {
    let home = Home::new();
    let text = "
int main(void) {
    mkdir(getenv(\"NEW\"), 0700) == 0 || (abort(), 0);
    return await();
}
";
    let path = compiled_text(&home, "waits", &program(&(WAITS.to_owned() + text)), &[]);
    let mut command = home.command(["run", "--spin-after", "200ms", "--", &path]);
    command.env("NEW", home.path().join("new"));
    let run = run(command, BOUND);
    assert!(!run.stderr.contains("abort"), "it ran once: {run:?}");
    let note = "waits in loops and races are seen at conflicting accesses, which were not learned, so that the \
                outcome may be another one with them: learn them first (--learn)";
    assert!(run.stderr.contains(note), "{run:?}");
}

/// Regression test: what exceeded the megabyte that a trace stores was not printed.
#[test]
fn all_output_is_printed_and_the_trace_stores_the_beginning() {
    let home = Home::new();
    let text = "
int main(void) {
    for (int line = 0; line < 400000; line++) printf(\"line %d\\n\", line);
    return two() != 2;
}
";
    let path = compiled_text(&home, "prints", &program(&(TWO_THREADS.to_owned() + text)), &[]);
    let run = home.heddle(["run", "--", &path]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let expected: String = (0..400_000).map(|line| format!("line {line}\n")).collect();
    assert!(run.stdout == expected, "{} of {} bytes", run.stdout.len(), expected.len());
    let shown = home.heddle(["show", "--json", run.trace()]);
    let shown: serde_json::Value = shown.object();
    let stored = shown["output"].as_array().expect("bytes").len();
    let end = "\n[output truncated]\n".len();
    assert_eq!(stored, (1 << 20) + end);
}

#[test]
fn races_that_one_execution_shows_are_reported() {
    let home = Home::new();
    let text = program(&(TWO_THREADS.to_owned() + "int main(void) { return two() != 2; }\n"));
    let path = compiled_text(&home, "races", &text, &["-fsanitize=thread"]);
    let run = home.heddle(["run", "--", &path]);
    assert!(run.stderr.contains("race: "), "{run:?}");
    let report: Report = home.heddle(["run", "--json", "--", &path]).object();
    assert!(report.races.len() == 2 && report.points.new > 0, "{report:?}");
}
