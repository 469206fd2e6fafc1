//! Calls of two threads that use state which the C library does not protect: where they may overlap, a search is
//! not complete and names the state; under a lock it is complete.

use std::process::Command;
use tests::heddle::Home;
use traces::report::{Report, Verdict};

/// What both threads call, and the state as the report names it.
const CASES: [(&str, &str); 8] = [
    ("drand48()", "the state of drand48"),
    ("asctime(&(struct tm){.tm_mday = 1})", "the text that asctime returns"),
    ("getopt(1, (char *[]){\"program\", 0}, \"a\")", "the position of getopt"),
    ("hsearch((ENTRY){\"key\", 0}, FIND)", "the table of hsearch"),
    ("l64a(1)", "the text that l64a returns"),
    ("mblen(\"a\", 1)", "the state of multibyte conversion"),
    ("fputs_unlocked(\"a\", stream)", "a stream without its lock"),
    ("which ? (void)getenv(\"HOME\") : (void)setenv(\"NEW\", \"value\", 1)", "the environment"),
];

/// Functions of which more is unknown: a search of calls under a lock is not complete either.
const PARTLY_KNOWN: [&str; 2] = ["l64a(1)", "hsearch((ENTRY){\"key\", 0}, FIND)"];

fn explore(call: &str, lock: &str) -> Report {
    let home = Home::new();
    let source = format!(
        "#define _GNU_SOURCE\n#include <pthread.h>\n#include <search.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         #include <time.h>\n#include <unistd.h>\n\
         static FILE *stream; static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
         static void call(int which) {{\n    {lock} (void)which; {call};\n    \
         pthread_mutex_unlock(&lock);\n}}\n\
         static void *worker(void *u) {{ call(1); return u; }}\n\
         int main(void) {{\n    pthread_t a;\n    hcreate(8); stream = tmpfile();\n    \
         pthread_create(&a, 0, worker, 0);\n    call(0);\n    return pthread_join(a, 0);\n}}\n"
    );
    let file = home.path().join("calls.c");
    let text = match lock {
        "" => source.replace("    pthread_mutex_unlock(&lock);\n", ""),
        _ => source,
    };
    std::fs::write(&file, text).expect("written");
    let program = home.path().join("calls");
    let built = Command::new("gcc")
        .args(["-g", "-O1", "-w", "-pthread", "-o"])
        .arg(&program)
        .arg(&file)
        .output()
        .expect("gcc starts");
    assert!(built.status.success(), "{call}: {}", String::from_utf8_lossy(&built.stderr));
    let program = program.to_string_lossy();
    let args = ["explore", "--json", "--strategy", "dpor", "--workers", "1", "--"];
    home.heddle([&args[..], &[&program]].concat()).report()
}

#[test]
fn calls_that_may_overlap_are_named() {
    for (call, state) in CASES {
        let report = explore(call, "");
        let expected = format!(
            "not explored: calls in several threads that use {state} at the same time, from calls.c:10: the \
             C library does not protect it; hold a lock around these calls"
        );
        assert_eq!(report.verdict, Verdict::Incomplete, "{call}: {report:?}");
        assert!(report.notes.contains(&expected), "{call}: {:?}", report.notes);
    }
}

#[test]
fn calls_under_a_lock_are_complete() {
    for (call, state) in CASES {
        let report = explore(call, "pthread_mutex_lock(&lock);");
        let named = report.notes.iter().any(|note| note.contains(state));
        assert!(!named, "{call}: {:?}", report.notes);
        if !PARTLY_KNOWN.contains(&call) {
            assert_eq!(report.verdict, Verdict::Clean, "{call}: {report:?}");
        }
    }
}
