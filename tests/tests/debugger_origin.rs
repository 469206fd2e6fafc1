//! `sched origin`: values whose origins are known by construction, at all levels of optimisation.

use tests::debugging::{BOUND, compiled_text, expect, gdb, gdb_on, lldb};
use tests::heddle::{Home, Run, run};

/// Each line that copies has a comment with its name.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct pair { long left, right; };
struct pair first, second, none;
long third, sum, arguments, process;
int words[4], exchanged, chosen = 7;
char text[16], copied[16], filled[16];
void *allocated;
long volatile turns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *giver(void *given) {
    pthread_mutex_lock(&lock);
    first.left = (long)given; // stored
    first.right = 77; // constant
    second = first; // structure
    pthread_mutex_unlock(&lock);
    for (turns = 0; turns < 100; turns++);
    memset(filled, 'x', 11); // filled
    memcpy(text, "one two three 4", 16); // text
    __atomic_exchange_n(&exchanged, chosen, __ATOMIC_SEQ_CST); // exchanged
    return 0;
}
static void *taker(void *unused) {
    pthread_mutex_lock(&lock);
    third = second.left; // taken
    sum = third + 5; // sum
    words[1] = (int)sum;
    __asm__ volatile("" ::: "memory");
    words[2] = words[1]; // word
    allocated = malloc(10); // allocated
    pthread_mutex_unlock(&lock);
    memcpy(copied, text, 16); // copied
    process = getpid(); // process
    return unused;
}
__attribute__((noipa)) void last(void) { __asm__(""); }
int main(int argc, char **argv) {
    pthread_t one, other;
    arguments = argc; // arguments
    pthread_create(&one, 0, giver, (void *)1234); // created
    pthread_join(one, 0);
    pthread_create(&other, 0, taker, 0);
    pthread_join(other, 0);
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], "a", 1) != 1) return 1;
    if (read(ends[0], words, 1) != 1) // read
        return 1;
    last();
    return argv == 0;
}
"#;

/// The name of a line as it is printed.
fn line(name: &str) -> String {
    let comment = format!("// {name}");
    let number = PROGRAM.lines().position(|line| line.ends_with(&comment)).expect("a line's name");
    format!(":{} ", number + 1)
}

/// An expression, the lines on the way back, and where its value begins.
const ORIGINS: [(&str, &[&str], &str); 12] = [
    ("third", &["taken", "structure", "stored", "created"], "the constant 0x4d2"),
    ("second.right", &["structure", "constant"], "the constant 0x4d"),
    ("words[2]", &["word", "sum"], "computed by `*`"),
    ("allocated", &["allocated"], "returned by `malloc`"),
    ("sum", &["sum"], "computed by `*`"),
    ("exchanged", &["exchanged"], "in this memory from the program's beginning on"),
    ("none.left", &[], "in this memory from the program's beginning on"),
    ("copied[4]", &["copied", "text"], "in this memory from the program's beginning on"),
    ("filled[10]", &["filled"], "the constant 0x78"),
    ("process", &["process"], "returned by `*`"),
    ("arguments", &["arguments"], "passed to the program when it began"),
    ("*(char *)words", &["read"], "written by `read`"),
];

fn check(level: &str, more: &[&str]) {
    let home = Home::new();
    let options: Vec<&str> = [level, "-fno-builtin"].iter().chain(more).copied().collect();
    let binary = compiled_text(&home, "origins", PROGRAM, &options);
    let ask = |expression: &str| format!("sched origin {expression}");
    let mut commands = vec!["break last".to_owned(), "continue".to_owned()];
    commands.extend(ORIGINS.iter().map(|(expression, ..)| ask(expression)));
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let run = gdb_on(&home, &[&binary], &commands);
    for (at, (expression, lines, beginning)) in ORIGINS.iter().enumerate() {
        let title = format!("{expression} is *");
        let mut expected: Vec<String> = vec![title];
        expected.extend(lines.iter().map(|name| line(name)));
        // Where an instruction began the value, both are on one line.
        let is_instruction = ["the constant", "computed", "returned", "written"];
        if is_instruction.iter().any(|begins| beginning.starts_with(begins)) {
            let last = expected.pop().expect("the line of the instruction");
            expected.push(format!("{last}*{beginning}"));
        } else {
            expected.push((*beginning).to_owned());
        }
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        let next = ORIGINS.get(at + 1).map(|(next, ..)| format!("\n{next} is "));
        let from = run.stdout.find(&format!("{expression} is ")).unwrap_or_else(|| {
            panic!("{level}: no answer for {expression}:\n{}\n{}", run.stdout, run.stderr)
        });
        let to = next.and_then(|next| run.stdout.find(&next)).unwrap_or(run.stdout.len());
        let (stdout, stderr) = (run.stdout[from..to].to_owned(), run.stderr.clone());
        let part = Run { status: run.status, stdout, stderr };
        expect(&part, &expected);
    }
}

#[test]
fn a_value_is_followed_to_its_origin_without_optimisation() {
    check("-O0", &[]);
}

#[test]
fn a_value_is_followed_to_its_origin_in_optimised_code() {
    for level in ["-O1", "-O2", "-O3"] {
        check(level, &[]);
    }
}

#[test]
fn what_is_no_value_in_memory_is_refused() {
    let home = Home::new();
    let binary = compiled_text(&home, "origins", PROGRAM, &["-O0"]);
    let answers = [
        (
            "sched origin first",
            "a value of 16 bytes is not followed: ask for a part of it, of at most 8",
        ),
        ("monitor origin x", "wrong arguments: origin x"),
        ("sched origin 5", "5 cannot be followed: it cannot be parsed: expected a name"),
        (
            "sched origin $xmm0",
            "`xmm0` is no general register, and other registers are not followed",
        ),
        ("sched origin zzz", "No symbol \"zzz\" in current context."),
    ];
    for (command, answer) in answers {
        let run = gdb_on(&home, &[&binary], &[command]);
        assert!(format!("{}{}", run.stdout, run.stderr).contains(answer), "{command}: {run:?}");
    }
}

/// A pointer that is in a register where it is used.
const USER: &str = r#"
#include <pthread.h>
#include <stddef.h>
struct node { long value; struct node *next; };
struct node first = { 1, NULL }, *volatile head = &first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noipa)) static long use(struct node *given, long index) {
    __asm__ volatile("" ::: "memory");
    return (&given->value)[index]; // used
}
static void *taker(void *unused) {
    pthread_mutex_lock(&lock);
    head = NULL; // taken
    pthread_mutex_unlock(&lock);
    return unused;
}
static void *reader(void *unused) {
    pthread_mutex_lock(&lock);
    struct node *mine = head; // read
    pthread_mutex_unlock(&lock);
    return (void *)(use(mine, 0) * (unused != NULL));
}
int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, reader, 0);
    pthread_create(&other, 0, taker, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
"#;

/// The place of a line of the program of a pointer, by its comment.
fn line_of(name: &str) -> String {
    let number = USER.lines().position(|line| line.ends_with(&format!("// {name}")));
    format!("user.c:{}", number.expect("a line's name") + 1)
}

#[test]
fn a_value_in_a_register_is_followed() {
    let home = Home::new();
    let binary = compiled_text(&home, "user", USER, &["-O2"]);
    let found = home.heddle(["explore", "--json", "--", &binary]);
    let trace = found.report().bugs[0].trace.clone().expect("a trace");
    let (read, taken) = (line_of("read"), line_of("taken"));
    for expression in ["given", "$rdi"] {
        let ask = format!("sched origin {expression}");
        let run = gdb(&home, &trace, "failure", &[&ask]);
        expect(&run, &[expression, &format!("{read}*from head"), &format!("{taken}*constant 0x0")]);
        if has_lldb("a_value_in_a_register_is_followed") {
            let run = lldb(&home, &trace, "failure", &[&ask]);
            let lines = [&*format!("{read}*from head"), &*format!("{taken}*constant 0x0")];
            expect(&run, &lines);
        }
    }
    let explained = home.heddle(["explain", "--ascii", "--origin", "head", &trace]);
    expect(
        &explained,
        &[
            "Where the pointer came from: 0x0",
            "passed in registers",
            &format!("T1 in step *{read}*struct node *mine = head"),
            "read from head (8 bytes)",
            &format!("T2 in step *{taken}*head = NULL"),
            "the constant 0x0",
            "Where head came from: null",
            &format!("T2 in step *{taken}"),
            "the constant 0x0",
        ],
    );
    let explained = home.heddle(["explain", "--json", "--origin", "use::x", &trace]);
    let object: serde_json::Value = serde_json::from_str(&explained.stdout).expect("JSON");
    let origins = object["origins"].as_array().expect("origins");
    assert_eq!(origins[0]["what"], "the pointer");
    let last = origins[0]["copies"].as_array().and_then(|copies| copies.last()).expect("a copy");
    assert_eq!((&last["task"], &last["begins"]), (&2.into(), &"the constant 0x0".into()));
    assert_eq!(origins[1]["error"], "no such variable here");
    let wrong = home.heddle(["explain", "--origin", "a + b", &trace]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("--origin a + b cannot be parsed"), "{wrong:?}");
}

/// Whether there is an lldb; otherwise the part of a test that needs it is skipped.
fn has_lldb(name: &str) -> bool {
    let found = std::process::Command::new("lldb-19").arg("--version").output().is_ok();
    if !found {
        println!("SKIPPED: {name} in lldb");
    }
    found
}

/// The program jumps through a pointer that another thread has cleared.
const JUMP: &str = "#include <pthread.h>
typedef void callback(void);
static void nothing(void) {}
callback *volatile hook = nothing;
static void *clear(void *p) {
    hook = 0;
    return p;
}
static void *call(void *p) {
    if (hook)
        hook();
    return p;
}
int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, call, 0);
    pthread_create(&other, 0, clear, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
";

#[test]
fn the_pointer_of_a_call_to_nowhere_is_followed() {
    let home = Home::new();
    for level in ["-O0", "-O2"] {
        let binary = compiled_text(&home, "jump", JUMP, &[level]);
        let found = home.heddle(["explore", "--json", "--", &binary]);
        let trace = found.report().bugs[0].trace.clone().expect("a trace");
        let explained = home.heddle(["explain", "--ascii", &trace]);
        expect(
            &explained,
            &["Where the pointer came from: 0x0", "T2 in step *jump.c:6", "the constant 0x0"],
        );
    }
}

/// A division that faults, whose operand is in memory.
const DIVISION: &str = "#include <pthread.h>
volatile long parts = 1, total = 10;
static void *clear(void *p) { parts = 0; return p; }
static void *divide(void *p) { total = total / parts; return p; }
int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, divide, 0);
    pthread_create(&other, 0, clear, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    return 0;
}
";

#[test]
fn a_crash_without_a_wrong_pointer_has_none() {
    let home = Home::new();
    let binary = compiled_text(&home, "division", DIVISION, &["-O1"]);
    let found = home.heddle(["explore", "--json", "--", &binary]);
    let trace = found.report().bugs[0].trace.clone().expect("a trace");
    let explained = home.heddle(["explain", "--ascii", "--origin", "parts", &trace]);
    assert!(explained.stdout.contains("crash: SIGFPE"), "{explained:?}");
    assert!(!explained.stdout.contains("the pointer"), "{explained:?}");
    expect(&explained, &["Where parts came from: 0", "T2 in step *division.c:3", "constant 0x0"]);
}

#[test]
fn lldb_has_the_command_too() {
    let home = Home::new();
    let binary = compiled_text(&home, "origins", PROGRAM, &["-O0"]);
    let mut words = vec!["gdb", "--lldb", "--with", "--batch"];
    for command in ["breakpoint set --name last", "continue", "sched origin third"] {
        words.extend(["--with", "-o", "--with", command]);
    }
    words.extend(["--", &binary]);
    let run = run(home.command(words), BOUND);
    let taken = line("taken");
    expect(&run, &[&taken, "the constant 0x4d2"]);
}
