//! Threads that read clocks: the times of reads that nothing orders do not show their order, and a
//! report that claims completeness mentions that.

use tests::debugging::compiled_text;
use tests::heddle::Home;
use traces::report::{Report, Verdict};

const READS: &str = r"
    #include <pthread.h>
    #include <time.h>
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct timespec times[2];
    static void *work(void *at) {
        if (LOCKED) pthread_mutex_lock(&lock);
        clock_gettime(CLOCK_MONOTONIC, at);
        if (LOCKED) pthread_mutex_unlock(&lock);
        return 0;
    }
    int main(void) {
        pthread_t one;
        pthread_create(&one, 0, work, &times[0]);
        if (JOINED) pthread_join(one, 0);
        work(&times[1]);
        if (!JOINED) pthread_join(one, 0);
        return 0;
    }";

fn explore(locked: u8, joined: u8) -> Report {
    let home = Home::new();
    let flags = [&*format!("-DLOCKED={locked}"), &*format!("-DJOINED={joined}"), "-O1", "-pthread"];
    let path = compiled_text(&home, "reads", READS, &flags);
    home.heddle(["explore", "--json", "--strategy", "dpor", "--", &path]).report()
}

#[test]
fn clean_says_that_unordered_reads_of_clocks_do_not_show_their_order() {
    let says = |report: &Report| report.notes.iter().any(|note| note.contains("read a clock"));
    for (locked, joined, expected) in [(0, 0, true), (1, 0, false), (0, 1, false)] {
        let report = explore(locked, joined);
        let what = format!("locked {locked}, joined {joined}: {report:#?}");
        assert_eq!((report.verdict, says(&report)), (Verdict::Clean, expected), "{what}");
    }
}
