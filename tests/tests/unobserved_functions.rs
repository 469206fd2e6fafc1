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

/// A thread of the C library makes the transfer, also where the program has none.
#[test]
fn asynchronous_input_of_a_program_without_threads() {
    const PROGRAM: &str = "#define _GNU_SOURCE\n#include <aio.h>\n#include <sys/mman.h>\nint main(void) {\n \
        static char text[4];\n static struct aiocb request = {.aio_buf = text, .aio_nbytes = 4};\n \
        request.aio_fildes = memfd_create(\"file\", 0);\n aio_read(&request);\n return 0;\n}\n";
    let home = Home::new();
    let program = compiled_text(&home, "asynchronous", PROGRAM, &[]);
    let report = home.heddle(["explore", "--json", "--", &program]).report();
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert!(report.notes.iter().any(|said| said.contains("`aio_read`")), "{:?}", report.notes);
}

/// The semaphores of an execution have no files.
#[test]
fn the_file_of_a_named_semaphore() {
    const PROGRAM: &str = "#include <fcntl.h>\n#include <semaphore.h>\n#include <unistd.h>\nint main(void) {\n \
        sem_open(\"/heddle-file\", O_CREAT, 0600, 1);\n int found = access(\"/dev/shm/sem.heddle-file\", F_OK);\n \
        sem_unlink(\"/heddle-file\");\n return found != 0;\n}\n";
    unsupported("semaphore_file", PROGRAM, "the file of a named semaphore");
}

/// A program that ends as unsupported, with this text in the message.
fn unsupported(name: &str, program: &str, said: &str) {
    let home = Home::new();
    let program = compiled_text(&home, name, program, &[]);
    let report = home.heddle(["explore", "--json", "--", &program]).report();
    assert_eq!(report.verdict, Verdict::Unsupported, "{report:#?}");
    assert!(report.bugs[0].message.contains(said), "{:?}", report.bugs);
}

/// The kernel passes the futex to the waiter, which is not modelled.
#[test]
fn a_listed_futex_with_priority_inheritance_whose_owner_ends() {
    const PROGRAM: &str = "#define _GNU_SOURCE\n#include <linux/futex.h>\n#include <pthread.h>\n#include <stddef.h>\n\
        #include <sys/syscall.h>\n#include <unistd.h>\n\
        struct lock { struct robust_list entry; int word; };\nstatic struct lock lock;\n\
        static struct robust_list_head list;\n\
        static void *end(void *unused) {\n\
            list.list.next = (void *)((char *)&lock.entry + 1);\n lock.entry.next = &list.list;\n\
            list.futex_offset = offsetof(struct lock, word);\n\
            syscall(SYS_set_robust_list, &list, sizeof list);\n\
            syscall(SYS_futex, &lock.word, FUTEX_LOCK_PI, 0, 0, 0, 0);\n return unused;\n}\n\
        int main(void) {\n pthread_t one;\n pthread_create(&one, 0, end, 0);\n\
            syscall(SYS_futex, &lock.word, FUTEX_LOCK_PI, 0, 0, 0, 0);\n\
            syscall(SYS_futex, &lock.word, FUTEX_UNLOCK_PI, 0, 0, 0, 0);\n\
            return pthread_join(one, 0);\n}\n";
    unsupported(
        "priority",
        PROGRAM,
        "the end of a thread that others wait for to unlock a PI futex",
    );
}

#[test]
fn another_word_for_the_end_of_a_thread() {
    const PROGRAM: &str = "#include <sys/syscall.h>\n#include <unistd.h>\nlong syscall(long, ...);\nstatic int word;\n\
        int main(void) {\n syscall(SYS_set_tid_address, &word);\n return 0;\n}\n";
    unsupported("tid_address", PROGRAM, "set_tid_address");
}
