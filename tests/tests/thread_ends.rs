//! How the end of a thread reads in a schedule.

use std::process::Command;
use tests::heddle::Home;

/// The kernel clears the thread's id, in a word that no variable of the program names.
#[test]
fn the_end_of_a_thread_that_main_tries_to_join_reads_as_its_end() {
    let home = Home::new();
    let (source, program) = (home.path().join("tries.c"), home.path().join("tries"));
    let text = "#define _GNU_SOURCE\n#include <pthread.h>\n#include <stdlib.h>\n\
        static void *work(void *unused) { return unused; }\n\
        int main(void) {\n  pthread_t thread;\n  pthread_create(&thread, 0, work, 0);\n  \
        if (pthread_tryjoin_np(thread, 0) == 0) abort();\n  return 0;\n}\n";
    std::fs::write(&source, text).expect("a source");
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-pthread", "-o"]).arg(&program).arg(&source);
    assert!(compiler.status().expect("cc runs").success());
    let run = home.heddle(["explore", "--", &program.to_string_lossy()]);
    let trace = run.stdout.split_whitespace().find(|word| word.ends_with(".heddle"));
    let shown = home.heddle(["show", trace.unwrap_or_else(|| panic!("{run:?}"))]).stdout;
    let end = shown.lines().find(|line| line.contains("x T1 ends"));
    assert!(end.is_some_and(|line| line.contains("tries.c:4")), "{shown}");
    assert!(shown.contains("R read thread end = 0"), "{shown}");
    assert!(!shown.contains("write"), "{shown}");
}
