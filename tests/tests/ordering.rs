//! Which memory accesses are ordered, which are not, and what is reported about unordered ones:
//! small programs, each in a schedule without preemptions (`sleep` lets other tasks run first), so
//! that only the comparison of accesses finds the races.

use tests::debugging::compiled_text;
use tests::heddle::Home;
use traces::FailureKind;
use traces::report::Report;

const HEAD: &str = r"
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static pthread_t start(void *(*work)(void *), int detached) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, detached);
    pthread_create(&thread, &attributes, work, 0);
    return thread;
}
/* Who sees that another task is done comes after it, but is ordered by nothing. */
static int is_done;
static inline void done(void) { __atomic_store_n(&is_done, 1, __ATOMIC_RELAXED); }
static inline void wait_until_done(void) {
    while (!__atomic_load_n(&is_done, __ATOMIC_RELAXED))
        sched_yield();
}
";

fn explore(body: &str, flags: &[&str], options: &[&str]) -> Report {
    let home = Home::new();
    let program = compiled_text(&home, "ordering", &format!("{HEAD}{body}"), flags);
    let always = ["explore", "--json", "--keep-going", "--workers", "1"];
    let run = home.heddle(always.iter().chain(options).chain(&["--", &program]));
    run.report()
}

/// The races of an instrumented program in a schedule without preemptions.
fn races(body: &str) -> Vec<String> {
    let options = ["--strategy", "sticky:1000000", "--max-executions", "5"];
    let report = explore(body, &["-O0", "-g", "-fsanitize=thread"], &options);
    assert!(report.bugs.is_empty(), "{report:#?}");
    report.races
}

#[test]
fn readers_of_a_lock_are_not_ordered() {
    let program = |first: &str, second: &str| {
        format!(
            "static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
             static int x;
             static void *work(void *no) {{
                 pthread_rwlock_{first}(&lock); x++; pthread_rwlock_unlock(&lock); return no;
             }}
             int main(void) {{
                 pthread_t other = start(work, 0);
                 sleep(1);
                 pthread_rwlock_{second}(&lock); x++; pthread_rwlock_unlock(&lock);
                 return pthread_join(other, 0);
             }}"
        )
    };
    assert!(!races(&program("rdlock", "rdlock")).is_empty());
    for (first, second) in [("rdlock", "wrlock"), ("wrlock", "rdlock"), ("wrlock", "wrlock")] {
        assert_eq!(races(&program(first, second)), Vec::<String>::new(), "{first} {second}");
    }
}

#[test]
fn a_detached_thread_that_has_ended_orders_nothing() {
    let races = races(
        "static int x;
         static void *first(void *no) { x = 1; return no; }
         static void *nothing(void *no) { return no; }
         int main(void) {
             start(first, PTHREAD_CREATE_DETACHED);
             sleep(1);
             pthread_t other = start(nothing, 0);
             x = 2;
             return pthread_join(other, 0);
         }",
    );
    assert_eq!(races.len(), 1, "{races:?}");
}

#[test]
fn the_stack_of_an_ended_thread_is_fresh_memory() {
    let found = races(
        "__attribute__((noinline)) static void fill(volatile int *words) {
             for (int at = 0; at < 64; at++)
                 words[at] = at;
         }
         static void *work(void *no) { int words[64]; fill(words); return no; }
         int main(void) {
             start(work, PTHREAD_CREATE_DETACHED);
             sleep(1);
             start(work, PTHREAD_CREATE_DETACHED);
             sleep(1);
             return 0;
         }",
    );
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn memory_that_is_mapped_again_is_fresh_memory() {
    let body = "static void *work(void *no) {
             long *words = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
             words[0] = 1;
             words[1] = 2;
             munmap(words, 4096);
             return no;
         }
         int main(void) {
             pthread_t one = start(work, 0), other = start(work, 0);
             pthread_join(one, 0);
             return pthread_join(other, 0);
         }";
    assert_eq!(races(body), Vec::<String>::new());
    // If each access is a step, values written to memory are compared before the memory is
    // unmapped.
    let options = ["--points", "all", "--strategy", "random", "--max-executions", "50"];
    let report = explore(body, &["-O0", "-g", "-fsanitize=thread"], &options);
    assert!(report.bugs.is_empty() && report.races.is_empty(), "{report:#?}");
}

#[test]
fn a_block_that_grows_in_place_is_fresh_only_in_the_new_part() {
    let found = races(
        "static void *work(void *no) {
             char *block = malloc(4000);
             for (int at = 0; at < 4000; at++)
                 block[at] = 1;
             free(block);
             return no;
         }
         int main(void) {
             pthread_t other = start(work, 0);
             sleep(1);
             for (int again = 0; again < 3000; again++) {
                 char *block = malloc(3700);
                 block = realloc(block, 3950);
                 block[3900] = 2;
                 free(block);
             }
             return pthread_join(other, 0);
         }",
    );
    assert_eq!(found, Vec::<String>::new());
}

/// One task maps memory and passes its address to another; `ORDER` is what may order the other's
/// access before the unmapping.
const UNMAPPED: &str = "
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static long *words;
    static void *work(void *no) {
        pthread_mutex_lock(&lock);
        words[5] = 1;
        pthread_mutex_unlock(&lock);
        done();
        return no;
    }
    int main(void) {
        words = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_t other = start(work, 0);
        wait_until_done();
        ORDER;
        munmap(words, 8192);
        LATE;
        return 0;
    }";

#[test]
fn an_access_races_with_unmapping_as_with_freeing() {
    let program = |order: &str, late: &str| {
        races(&format!("#define ORDER {order}\n#define LATE {late}\n{UNMAPPED}"))
    };
    let join = "pthread_join(other, 0)";
    let locks = "pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock)";
    assert_eq!(program("(void)0", join).len(), 1);
    assert_eq!(program(join, "(void)0"), Vec::<String>::new());
    assert_eq!(program(locks, join), Vec::<String>::new());
}

#[test]
fn a_reused_block_has_no_history_of_its_previous_use() {
    let locks = "pthread_mutex_t *lock = (void *)block; pthread_mutex_init(lock, 0); \
                 pthread_mutex_lock(lock); pthread_mutex_unlock(lock)";
    let stores = "__atomic_store_n(block, 1, __ATOMIC_RELEASE)";
    let loads = "__atomic_load_n((int *)block, __ATOMIC_ACQUIRE)";
    let adds = "__atomic_fetch_add((int *)block, 1, __ATOMIC_ACQUIRE)";
    for (first, second) in [(stores, loads), (stores, adds), (locks, locks)] {
        // A block of this size is reused immediately.
        let found = races(&format!(
            "enum {{ SIZE = 1 << 20 }};
             static int x;
             static void *last;
             static void *first(void *no) {{
                 x = 1;
                 int *block = malloc(SIZE);
                 {first};
                 __atomic_store_n(&last, block, __ATOMIC_RELAXED);
                 free(block);
                 done();
                 return no;
             }}
             static void *second(void *no) {{
                 wait_until_done();
                 int *block = malloc(SIZE);
                 assert(block == __atomic_load_n(&last, __ATOMIC_RELAXED));
                 {second};
                 x = 2;
                 free(block);
                 return no;
             }}
             int main(void) {{
                 pthread_t one = start(first, 0), other = start(second, 0);
                 pthread_join(one, 0);
                 return pthread_join(other, 0);
             }}"
        ));
        assert_eq!(found.len(), 1, "{second}: {found:?}");
    }
}

/// A plain write releases nothing, even if an atomic operation wrote the same value before.
#[test]
fn reading_a_plain_write_orders_nothing() {
    let program = |write: &str| {
        races(&format!(
            "static int x, flag;
             static void *work(void *no) {{
                 x = 1;
                 __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
                 {write}
                 done();
                 return no;
             }}
             int main(void) {{
                 pthread_t other = start(work, 0);
                 wait_until_done();
                 __atomic_load_n(&flag, __ATOMIC_ACQUIRE);
                 x = 2;
                 return pthread_join(other, 0);
             }}"
        ))
        .len()
    };
    assert_eq!(program(""), 0);
    // Two races: on the flag, and on the data that it should guard.
    assert_eq!(program("flag = 2;"), 2);
}

/// A pointer is read under a lock and used after it, while another task replaces it and frees its
/// block.
const TAKEN_AWAY: &str = "
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct { long unused; int number; } *shared;
    static void *work(void *no) {
        pthread_mutex_lock(&lock);
        volatile int *number = shared ? &shared->number : 0;
        pthread_mutex_unlock(&lock);
        if (number)
            *number = 2;
        return no;
    }
    int main(void) {
        shared = calloc(1, sizeof *shared);
        pthread_t other = start(work, 0);
        pthread_mutex_lock(&lock);
        void *mine = shared;
        shared = 0;
        pthread_mutex_unlock(&lock);
        free(mine);
        return pthread_join(other, 0);
    }";

#[test]
fn a_block_is_freed_while_another_task_is_about_to_use_it() {
    for strategy in ["random", "dpor", "dfs", "auto"] {
        let options = ["--strategy", strategy, "--max-executions", "2000"];
        let report = explore(TAKEN_AWAY, &["-O1", "-g"], &options);
        let kinds: Vec<FailureKind> = report.bugs.iter().map(|bug| bug.kind).collect();
        assert_eq!(kinds, [FailureKind::UseAfterFree], "{strategy}: {report:#?}");
    }
    let options = ["--strategy", "dpor", "--max-executions", "2000"];
    let report = explore(TAKEN_AWAY, &["-O1", "-g", "-fsanitize=thread"], &options);
    assert!(!report.races.is_empty(), "{report:#?}");
}

/// A copy that overlaps another task's access: `AT` is the offset.
const COPIED: &str = "
    static char from[104], to[104];
    char seen;
    static void *work(void *length) { memcpy(to, from, (long)length); return 0; }
    int main(void) {
        pthread_t other;
        memset(from, 1, sizeof from);
        pthread_create(&other, 0, work, (void *)100L);
        seen = to[AT];
        pthread_join(other, 0);
        return 0;
    }";

#[test]
fn an_access_to_several_words_depends_on_operations_on_each() {
    for at in ["-DAT=0", "-DAT=50", "-DAT=97"] {
        let report = explore(COPIED, &["-O1", "-g", at], &["--strategy", "dpor"]);
        assert!(report.bugs.is_empty(), "{report:#?}");
        assert_eq!(report.classes, 2, "{at}: {report:#?}");
    }
}

/// For these, compilers emit calls of the sanitizer's library.
#[test]
fn accesses_by_c_library_functions_race_like_others() {
    const SHARED: &str = "
        static char text[24] = \"as it was\", other[24];
        static volatile int length;
        static void *work(void *unused) { CALL; return unused; }
        int main(void) {
            pthread_t thread = start(work, PTHREAD_CREATE_JOINABLE);
            ORDER(thread);
            text[2] = ' ';
            LATE(thread);
            return 0;
        }";
    let calls = [
        "memcpy(other, text, sizeof text)",
        "memmove(text, other, sizeof text)",
        "memset(text, 0, sizeof text)",
        "length = memcmp(text, other, sizeof text)",
        "strcpy(other, text)",
        "strcpy(text, \"anew\")",
        "length = strlen(text)",
        "length = strcmp(text, \"as it is\")",
    ];
    for call in calls {
        let join = "pthread_join(t, 0)";
        let program = |order: &str, late: &str| {
            let rest = format!("#define ORDER(t) {order}\n#define LATE(t) {late}\n");
            format!("#define CALL {call}\n{rest}{SHARED}")
        };
        // The compiler must not inline them.
        let flags = ["-O0", "-g", "-fsanitize=thread", "-fno-builtin"];
        let options = ["--strategy", "sticky:1000000", "--max-executions", "5"];
        let found = explore(&program("(void)t", join), &flags, &options);
        assert_eq!(found.races.len(), 1, "{call}: {found:#?}");
        let none = explore(&program(join, "(void)t"), &flags, &options);
        assert!(none.races.is_empty() && none.bugs.is_empty(), "{call}: {none:#?}");
    }
}
