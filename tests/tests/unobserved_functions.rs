//! Functions whose calls a search cannot observe are named, and take completeness away.

use tests::debugging::compiled_text;
use tests::heddle::Home;
use traces::report::Verdict;

/// The program's threads call `work`; the search is incomplete, and a note says this.
fn check(work: &str, flags: &[&str], note: &str) {
    let home = Home::new();
    let text = format!(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <fcntl.h>\n#include <pthread.h>\n#include <string.h>\n\
         #include <unistd.h>\nstatic void *work(void *a) {{ {work} return a; }}\n\
         int main(void) {{\n pthread_t t;\n pthread_create(&t, 0, work, 0);\n work(0);\n\
         pthread_join(t, 0);\n return 0;\n}}\n"
    );
    let program = compiled_text(&home, "calls", &text, flags);
    let report = home.heddle(["explore", "--json", "--", &program]).report();
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert!(report.notes.iter().any(|said| said.contains(note)), "{:?}", report.notes);
}

#[test]
fn two_threads_that_move_the_end_of_the_data_segment() {
    check("sbrk(16);", &[], "the end of the data segment");
}

#[test]
fn instrumented_code_that_looks_up_the_next_definition_of_a_function() {
    const LOOKS: &str = "size_t (*f)(const char *) = dlsym(RTLD_NEXT, \"strlen\"); f(\"a\");";
    check(LOOKS, &["-fsanitize=thread", "-fno-builtin"], "`strlen` in the next library");
}
