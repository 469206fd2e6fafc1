//! Wrong answers that debuggers once got, each with the smallest program that shows it.

use std::process::Command;
use tests::debugging::{compiled_text, expect, gdb, gdb_on, lldb, store_points};
use tests::heddle::{Home, Run};

/// Two threads increment a variable by one instruction each, which is two steps. Both read 0.
const INCREMENT: &str = "#include <pthread.h>
int x;
__attribute__((noinline)) void f(void) { x++; }
static void *run(void *p) { f(); return p; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return x == 2 ? 0 : 7;
}
";

/// An inlined function that reads, compares and writes: a breakpoint at it has two places.
const WITHDRAW: &str = "#include <pthread.h>
int balance = 100, total;
static inline void take(int n) {
    int now = balance;
    if (now > 0) { balance = now - n; total += n; }
}
static void *one(void *p) { take(1); return p; }
static void *two(void *p) { take(2); return p; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return balance == 97 ? 0 : 7;
}
";

fn lost(home: &Home, text: &str) -> String {
    let path = compiled_text(home, "lost", text, &["-O2"]);
    store_points(home, &path, &[]);
    let run = home.heddle(["explore", "--json", "--", &path]);
    run.report().bugs[0].trace.clone().expect("a trace")
}

/// The lines of an output that begin with one of these words.
fn lines<'run>(run: &'run Run, words: &[&str]) -> Vec<&'run str> {
    run.stdout.lines().filter(|line| words.iter().any(|word| line.starts_with(word))).collect()
}

#[test]
fn what_the_runtime_restores_is_no_write() {
    let home = Home::new();
    let trace = lost(&home, INCREMENT);
    let values = ["Old value", "New value"];
    let run = gdb(&home, &trace, "main", &["watch x", "c", "c"]);
    assert_eq!(lines(&run, &values), ["Old value = 0", "New value = 1"], "{run:?}");
    let run = gdb(&home, &trace, "end", &["watch x", "rc", "print x", "rc"]);
    assert_eq!(lines(&run, &values), ["Old value = 1", "New value = 0"], "{run:?}");
    expect(&run, &["$1 = 0", "No more reverse-execution history"]);
    // Both instructions wrote, though the second changed nothing.
    let run = gdb(&home, &trace, "end", &["sched history x"]);
    expect(&run, &["2 writes, 2 before", "0x0 -> 0x1*f lost.c:3", "0x1 -> 0x1*f lost.c:3"]);
}

#[test]
fn a_thread_that_runs_while_another_steps_over_a_breakpoint_hits_it() {
    let home = Home::new();
    let trace = lost(&home, INCREMENT);
    for (at, back, end) in [("main", "c", "main"), ("end", "rc", "main")] {
        let run = gdb(&home, &trace, at, &["break f", back, back, back]);
        let hits: Vec<&str> = run.stdout.lines().filter(|line| line.contains(" hit ")).collect();
        assert_eq!(hits.len(), 2, "{end}: {run:?}");
        expect(&run, &["hit Breakpoint 1, f ()", "hit Breakpoint 1, f ()", "No more reverse"]);
    }
    // Only conditions, counts and threads that the user asked for remove a hit.
    let run = gdb(&home, &trace, "main", &["break f if x == 7", "tbreak f", "c", "c"]);
    expect(&run, &["hit Temporary breakpoint 2, f ()", "No more reverse"]);
    let run = gdb(&home, &trace, "main", &["break f", "ignore 1 1", "c", "info breakpoints", "c"]);
    expect(&run, &["hit Breakpoint 1, f ()", "already hit 2 times", "No more reverse"]);
}

#[test]
fn no_stop_of_another_thread_is_reported_in_a_step_over() {
    let home = Home::new();
    let trace = lost(&home, WITHDRAW);
    let run = gdb(&home, &trace, "main", &["break take", "c", "c", "c", "info threads", "bt"]);
    assert!(!run.stderr.contains("internal-error"), "{run:?}");
    let hits = ["hit Breakpoint 1.*, take (n=", "hit Breakpoint 1.*, take (n="];
    expect(&run, &[hits[0], hits[1], "No more reverse", "Thread 1.1 \"main\""]);
}

#[test]
fn watchpoints_compare_with_the_value_after_a_jump() {
    let home = Home::new();
    let trace = lost(&home, WITHDRAW);
    let forwards = gdb(&home, &trace, "main", &["watch balance", "c", "c", "c"]);
    let values = lines(&forwards, &["Old value", "New value"]);
    assert_eq!(values.len(), 4, "{forwards:?}");
    let commands = ["watch balance", "c", "sched goto end", "rc", "sched goto start", "c", "c"];
    let run = gdb(&home, &trace, "main", &commands);
    let undone = [values[3].replace("New", "Old"), values[2].replace("Old", "New")];
    let undone: Vec<&str> = undone.iter().map(String::as_str).collect();
    let expected = [&values[..2], &undone, &values].concat();
    assert_eq!(lines(&run, &["Old value", "New value"]), expected, "{run:?}");
    // An instruction back over a write, and forward again.
    let run = gdb(&home, &trace, "main", &["watch balance", "c", "reverse-stepi", "c"]);
    let back = [values[1].replace("New", "Old"), values[0].replace("Old", "New")];
    let back: Vec<&str> = back.iter().map(String::as_str).collect();
    let expected = [&values[..2], &back, &values[..2]].concat();
    assert_eq!(lines(&run, &["Old value", "New value"]), expected, "{run:?}");
}

#[test]
fn each_watchpoint_on_one_object_is_reported() {
    const TEXT: &str = "#include <string.h>
struct { long a, b; } pair;
volatile int byte = 1;
static void fill(int with) {
    memset(&pair, with, sizeof pair);
    __asm__ volatile(\"\" ::: \"memory\");
}
int main(void) { fill(byte); fill(2 * byte); return 0; }
";
    let home = Home::new();
    let path = compiled_text(&home, "pair", TEXT, &["-O1"]);
    let commands = ["watch pair.a", "watch pair.b", "c", "c", "c", "c", "rc", "rc", "rc", "rc"];
    let run = gdb_on(&home, &[&path], &commands);
    let lines = run.stdout.lines().filter(|line| line.contains("watchpoint "));
    let hits: Vec<&str> = lines.filter_map(|line| line.rsplit(": ").next()).collect();
    // The first two lines are the answers to `watch`.
    let (forwards, backwards) = (["pair.a", "pair.b"], ["pair.b", "pair.a"]);
    let expected = [forwards, forwards, forwards, backwards, backwards].concat();
    assert_eq!(hits, expected, "{run:?}");
}

#[test]
fn lldb_goes_back_from_breakpoint_to_breakpoint() {
    if Command::new("lldb-19").arg("--version").output().is_err() {
        println!("SKIPPED: lldb_goes_back_from_breakpoint_to_breakpoint");
        return;
    }
    let home = Home::new();
    let trace = lost(&home, INCREMENT);
    let back = "sched reverse continue";
    let run = lldb(&home, &trace, "end", &["b f", back, "sched when", back, "sched when", back]);
    let stop = "stop reason = breakpoint 1.1";
    expect(&run, &[stop, "step ", stop, "step ", "stop reason = the schedule begins here"]);
    let run = lldb(&home, &trace, "main", &["b f", "c", "sched when", "c", "sched when", "c"]);
    expect(&run, &[stop, "step ", stop, "step ", "stop reason = end of the schedule"]);
}

#[test]
fn lldb_shows_no_frames_of_the_runtime() {
    if Command::new("lldb-19").arg("--version").output().is_err() {
        println!("SKIPPED: lldb_shows_no_frames_of_the_runtime");
        return;
    }
    let home = Home::new();
    let trace = lost(&home, INCREMENT);
    // At the end, main has returned.
    for at in ["main", "3", "5", "7"] {
        let run = lldb(&home, &trace, at, &["thread backtrace all", "finish", "thread backtrace"]);
        assert!(!run.stdout.contains("heddle-runtime"), "{at}: {run:?}");
        assert!(!run.stdout.contains("libc_start"), "{at}: {run:?}");
        assert!(run.stdout.contains("frame #0: "), "{at}: {run:?}");
    }
    // A function's frame and its caller's are there, and the function can be finished.
    let run = lldb(
        &home,
        &trace,
        "main",
        &["b f", "c", "thread backtrace", "breakpoint disable 1", "finish", "frame info"],
    );
    expect(&run, &["frame #0: *f at lost.c:3", "frame #1: *run*at lost.c:4", "frame #0: *run"]);
}

/// Methods, a template and a function with references.
const METHODS: &str = "#include <cstdio>
#include <string>
#include <thread>
#include <vector>
struct Account {
    std::string owner;
    long balance = 0;
    long add(long amount) { return balance + amount; }
    virtual const char *kind() const { return \"plain\"; }
    virtual ~Account() {}
};
struct Savings : Account {
    const char *kind() const override { return \"savings\"; }
};
template <class T> T twice(T value) { return value + value; }
void show(const Account &account) {
    std::printf(\"%s has %ld\\n\", account.owner.c_str(), account.balance);
    std::fflush(stdout);
}
Savings savings;
std::vector<int> numbers = {4, 5, 6};
int main() {
    savings.owner = \"ann\";
    savings.balance = 7;
    std::thread other([] { savings.balance += twice(1); });
    other.join();
    show(savings);
    return int(savings.add(1) + savings.kind()[0] + numbers.size()) != 128;
}
";

#[test]
fn methods_and_templates_are_called() {
    let home = Home::new();
    let source = home.path().join("methods.cpp");
    std::fs::write(&source, METHODS).expect("written");
    let program = home.path().join("methods");
    let mut compiler = Command::new("c++");
    compiler.args(["-g", "-O0", "-pthread", "-o"]).args([&program, &source]);
    assert!(compiler.status().expect("a compiler").success());
    let commands = [
        "break twice<int>",
        "continue",
        "print savings.add(5)",
        "delete",
        "print savings.kind()",
        "print ((Account *)&savings)->kind()",
        "print twice<int>(21)",
        "print numbers.size()",
        "print savings.owner.size()",
        "call show(savings)",
        "call show(savings)",
        "print savings.balance",
        "continue",
    ];
    let run = gdb_on(&home, &[&program.to_string_lossy()], &commands);
    assert!(!run.stderr.contains("internal-error"), "{run:?}");
    expect(
        &run,
        &["$1 = 12", "$2 = *\"savings\"", "$3 = *\"savings\"", "$4 = 42", "$5 = 3", "$6 = 3"],
    );
    let printed = run.stderr.lines().filter(|line| line.contains("ann has 7")).count();
    assert_eq!(printed, 2, "{run:?}");
    expect(&run, &["$7 = 7"]);
}

/// A function that prints a value by its `Debug`.
const DEBUG: &str = "#[derive(Debug)]
pub struct Order { pub id: u32, pub parts: Vec<&'static str> }
#[unsafe(no_mangle)]
pub extern \"C\" fn show(order: &Order) -> usize {
    println!(\"{order:?}\");
    order.parts.len()
}
impl Order {
    #[inline(never)]
    pub fn count(&self) -> usize { self.parts.len() + 40 }
}
#[unsafe(no_mangle)]
pub static ORDERS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
#[inline(never)]
fn place(order: &Order) {
    ORDERS.fetch_add(order.id, std::sync::atomic::Ordering::SeqCst);
    std::hint::black_box(order);
}
fn main() {
    let order = Order { id: 3, parts: vec![\"axle\", \"wheel\"] };
    std::thread::scope(|scope| {
        scope.spawn(|| place(&order));
    });
    std::process::exit((show(&order) + order.count()) as i32 - 44);
}
";

#[test]
fn functions_of_rust_programs_are_called() {
    let home = Home::new();
    let source = home.path().join("orders.rs");
    std::fs::write(&source, DEBUG).expect("written");
    let program = home.path().join("orders");
    let mut compiler = Command::new("rustc");
    compiler.args(["--edition", "2024", "-g", "-C", "opt-level=0", "-o"]);
    let built = compiler.arg(&program).arg(&source).status();
    assert!(built.expect("a compiler").success());
    let commands = [
        "break orders::place",
        "continue",
        "print show(order)",
        "print orders::Order::count(order)",
        "print show(order)",
        "print order.id",
        "continue",
    ];
    let run = gdb_on(&home, &[&program.to_string_lossy()], &commands);
    assert!(!run.stderr.contains("internal-error"), "{run:?}");
    expect(&run, &["$1 = 2", "$2 = 42", "$3 = 2", "$4 = 3"]);
    let text = "Order { id: 3, parts: [\"axle\", \"wheel\"] }";
    assert_eq!(run.stderr.lines().filter(|line| line.contains(text)).count(), 2, "{run:?}");
}

#[test]
fn functions_are_called_any_number_of_times() {
    let home = Home::new();
    let trace = lost(&home, INCREMENT);
    let commands = [
        "break f",
        "c",
        "print (int)puts(\"first\")",
        "print (int)puts(\"second\")",
        "print (int)printf(\"%d of %d\\n\", 3, 4)",
        "print (long)malloc(10) != 0",
        "print (long)malloc(10) != 0",
        "thread 1",
        "print (int)puts(\"in main\")",
        // The process ends; nothing else runs, so this waits forever; a fault.
        "call (void)exit(3)",
        "print (int)puts(\"after exit\")",
        "call (int)pthread_join(*(unsigned long *)($sp + 0), 0)",
        "call (int)puts(1)",
        "print (int)puts(\"still there\")",
        "continue",
        "info threads",
    ];
    let run = gdb(&home, &trace, "main", &commands);
    assert!(!run.stderr.contains("internal-error"), "{run:?}");
    let values = ["$1 = 6", "$2 = 7", "$3 = 7", "$4 = 1", "$5 = 1", "$6 = 8", "$7 = 11", "$8 = 12"];
    expect(&run, &values);
    expect(&run, &["Thread 1.1 \"main\""]);
    // gdb writes what the server prints to the other stream.
    let mut printed = run.stderr.lines();
    for text in [
        "first",
        "second",
        "3 of 4",
        "in main",
        "the call ended the process",
        "after exit",
        "still there",
        "changes discarded",
    ] {
        assert!(printed.any(|line| line.contains(text)), "{text}: {run:?}");
    }
    // At the end, where the runtime's own code has the process.
    let run = gdb(&home, &trace, "end", &["print (int)puts(\"at the end\")", "print x"]);
    expect(&run, &["$1 = 11", "$2 = 1"]);
    assert!(run.stderr.contains("at the end"), "{run:?}");
}

#[test]
fn a_run_backwards_stops_at_the_same_steps_as_one_forwards() {
    let home = Home::new();
    let trace = lost(&home, WITHDRAW);
    let steps = |run: &Run| -> Vec<String> {
        let lines = run.stderr.lines().filter(|line| line.starts_with("[sched] switch at"));
        lines.map(|line| line.to_owned()).collect()
    };
    let forwards =
        gdb(&home, &trace, "main", &[&["sched stop-on switch"][..], &["c"; 12]].concat());
    let backwards =
        gdb(&home, &trace, "end", &[&["sched stop-on switch"][..], &["rc"; 12]].concat());
    let mut expected = steps(&forwards);
    assert!(expected.len() > 2, "{forwards:?}");
    expected.reverse();
    assert_eq!(steps(&backwards), expected, "{backwards:?}");
}

#[test]
fn the_vector_registers_of_a_task_at_a_step_are_known() {
    const TEXT: &str = "#include <pthread.h>
double shared = 1;
static void *run(void *p) { shared = shared * 3; return p; }
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return shared == 9 ? 0 : 7;
}
";
    let home = Home::new();
    let trace = lost(&home, TEXT);
    let run = gdb(&home, &trace, "end", &["sched prev", "print $xmm0.v2_double[0]"]);
    expect(&run, &["position", "$1 = "]);
    assert!(!run.stdout.contains("unavailable"), "{run:?}");
    if is_x86_feature_detected!("avx512f") {
        let run = gdb(&home, &trace, "main", &["print $k1", "print $zmm31.v8_int64[7]"]);
        expect(&run, &["$1 = ", "$2 = "]);
    }
}

#[test]
fn a_core_file_leaves_out_what_is_only_reserved() {
    let home = Home::new();
    let trace = lost(&home, INCREMENT);
    let core = home.path().join("core.written");
    let command = format!("generate-core-file {}", core.display());
    let run = gdb(&home, &trace, "end", &[&command]);
    expect(&run, &["Saved corefile"]);
    let len = std::fs::metadata(&core).expect("a file").len();
    assert!(len < 1 << 30, "{len} bytes");
    let program = home.path().join("lost");
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "print x"]).args([&program, &core]);
    let read = gdb.output().expect("gdb runs");
    assert!(String::from_utf8_lossy(&read.stdout).contains("$1 = 1"), "{read:?}");
}
