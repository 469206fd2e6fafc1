//! Changes of memory made in a debugger and saved as a separate schedule.

use tests::debugging::{built, compiled_text, expect, gdb};
use tests::heddle::Home;
use tests::rsp::{Client, Server};

/// Goes to the scheduling point of a step.
fn go_to(client: &mut Client, step: &str) {
    assert_eq!(client.monitor(&format!("goto {step}")), "");
    assert!(client.ask("vCont;s").starts_with('T'));
}

fn write(client: &mut Client, address: u64, word: u32) {
    let bytes: String = word.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(client.ask(&format!("M{address:x},4:{bytes}")), "OK");
}

#[test]
fn a_change_of_memory_is_saved_as_another_schedule() {
    let home = Home::new();
    let path = built("debugged");
    let found = home.heddle(["explore", "--json", "--points", "api", "--", &path]).report();
    let trace = found.bugs[0].trace.clone().expect("a trace");
    let file = home.path().join(&trace);
    let recorded = std::fs::read(&file).expect("there");
    let commands = [
        "sched keep",
        "sched goto 19",
        // After this change no update is lost; the other thread's three updates have not happened.
        "set var counter = 0",
        "sched keep",
        "print counter",
        "watch counter",
        "continue",
        "delete",
        "sched goto 18",
        "print counter",
        "continue",
        "sched output",
        "sched save kept.heddle",
        "sched pick back",
        "print counter",
    ];
    let run = gdb(&home, &trace, "main", &commands);
    expect(
        &run,
        &[
            "there is no change to keep",
            "memory is changed at step 19: counter = 0x0; its outcome is: exit: exit status 7",
            "$1 = 0",
            "Old value = 0",
            "New value = 1",
            "$2 = 3",
            "counter 3",
            "saved as kept.heddle",
            "$3 = 3",
        ],
    );
    assert_eq!(std::fs::read(&file).expect("there"), recorded);
    let shown = home.heddle(["show", "kept.heddle"]);
    assert!(shown.stdout.contains("memory changed at step 19: counter = 0x0"), "{shown:?}");
    let again = home.heddle(["replay", "--times", "3", "kept.heddle"]);
    assert_eq!(again.status, 1, "{again:?}");
    assert!(again.stdout.contains("3 of 3 runs"), "{again:?}");
    assert!(again.stderr.contains("memory changes at step 19: counter = 0x0"), "{again:?}");
    let shrunk = home.heddle(["shrink", "kept.heddle", "-o", "small.heddle"]);
    assert!(shrunk.stderr.contains("memory changes at step 19"), "{shrunk:?}");
    assert_eq!(home.heddle(["replay", "small.heddle"]).status, 1);
}

/// Changes on a task's stack and on the heap can be saved as well; other changes are refused with a
/// reason.
#[test]
fn a_change_that_cannot_be_saved_is_refused() {
    let home = Home::new();
    let text = "#include <pthread.h>\n#include <stdlib.h>\n\
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
        static volatile long where[3];\nstatic const int fixed = 1;\n\
        static void *run(void *x)\n{\n    volatile int here = 5;\n\
        \x20   volatile int *there = malloc(sizeof *there);\n    *there = 6;\n\
        \x20   where[0] = (long)&here;\n    where[1] = (long)there;\n    where[2] = (long)&fixed;\n\
        \x20   pthread_mutex_lock(&lock);\n    pthread_mutex_unlock(&lock);\n\
        \x20   int sum = here + *there;\n    free((void *)there);\n    exit(sum);\n    return x;\n}\n\
        int main(void)\n{\n    pthread_t thread;\n    pthread_create(&thread, 0, run, 0);\n\
        \x20   pthread_join(thread, 0);\n    return 0;\n}\n";
    let program = compiled_text(&home, "keeps", text, &["-no-pie"]);
    let found = home.heddle(["explore", "--json", "--points", "api", "--", &program]).report();
    let trace = found.bugs[0].trace.clone().expect("a trace");
    let named = gdb(&home, &trace, "main", &["print &where"]);
    let digits = named.stdout.split("0x").last().and_then(|text| text.split(' ').next());
    let place = u64::from_str_radix(digits.expect("an address"), 16).expect("a number");
    let server = Server::start(&home, &trace, &["--at", "main"]);
    let mut client = server.connect();
    // The position at which the thread is about to take the lock.
    let lines = client.monitor("list 1 20");
    let taken = lines.lines().find(|line| line.contains(" lock lock ")).expect("it does");
    let step = taken.trim_start_matches(['>', '!', ' ']).split(' ').next().expect("its number");
    go_to(&mut client, step);
    let word = |client: &mut Client, at: u64| {
        let digits = client.ask(&format!("m{:x},8", place + 8 * at));
        let bytes = (0..8).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16));
        let bytes: Vec<u8> = bytes.map(|byte| byte.expect("a byte")).collect();
        u64::from_le_bytes(bytes.try_into().expect("eight"))
    };
    let (here, there, fixed) = (word(&mut client, 0), word(&mut client, 1), word(&mut client, 2));
    write(&mut client, fixed, 2);
    assert_eq!(client.monitor("keep"), "");
    client.ask("vCont;s");
    assert!(
        client.said.contains("not kept: a saved change of memory cannot be applied"),
        "{}",
        client.said
    );
    write(&mut client, 0x7fff_f7ff_e000, 2);
    let refused = client.monitor("keep");
    assert!(
        refused.contains("cannot be kept: the address is not in a static variable"),
        "{refused}"
    );
    client.ask("vCont;c");
    go_to(&mut client, step);
    write(&mut client, here, 30);
    write(&mut client, there, 12);
    assert_eq!(client.monitor("keep"), "");
    client.ask("vCont;s");
    assert!(client.said.contains("its outcome is: exit: exit status 42"), "{}", client.said);
    // A second change after it; and a change in the middle of a step, which cannot be saved.
    write(&mut client, there, 13);
    assert_eq!(client.monitor("keep"), "");
    client.ask("vCont;s");
    assert!(client.said.contains("its outcome is: exit: exit status 43"), "{}", client.said);
    assert!(client.monitor("save kept.heddle").contains("saved"));
    assert!(client.ask("vCont;s").starts_with("T05"));
    write(&mut client, here, 31);
    let inside = client.monitor("keep");
    assert!(inside.contains("at the start of a step"), "{inside}");
    let again = home.heddle(["replay", "kept.heddle"]);
    assert!(again.stdout.contains("exit status 43"), "{again:?}");
    assert!(again.stderr.contains("T1's stack at -0x"), "{again:?}");
}
