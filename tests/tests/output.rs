//! What programs print, by every kind of call, and what they can query about the descriptor.

use std::process::Command;
use tests::debugging::compiled_text;
use tests::heddle::Home;

/// Prints to standard output by every kind of call, and prints the properties of the stream that it can query.
const PRINTS: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static void say(int to, const char *what) { write(to, what, strlen(what)); }

static void *task(void *nothing) { return nothing; }

int main(int argc, char **argv) {
    pthread_t thread;
    pthread_create(&thread, 0, task, 0);
    pthread_join(thread, 0);
    struct stat is;
    struct statx more;
    fstat(1, &is);
    statx(1, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &more);
    dprintf(1, "%d %d %d\n", S_ISFIFO(is.st_mode), S_ISFIFO(more.stx_mode), S_ISCHR(is.st_mode));
    stat("/dev/null", &is);
    dprintf(1, "%d\n", S_ISCHR(is.st_mode));
    dprintf(1, "%d\n", lseek(1, 0, SEEK_CUR) < 0 && errno == ESPIPE);
    struct pollfd ready = { 1, POLLIN | POLLOUT, 0 };
    poll(&ready, 1, 0);
    dprintf(1, "%d\n", ready.revents == POLLOUT);
    int copy = dup(1), high = fcntl(1, F_DUPFD, 20);
    say(copy, "by a copy\n");
    say(high, "by a copy of a high number\n");
    int opened = open("/dev/stdout", O_WRONLY);
    say(opened, "by its name\n");
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    say(1, "to no reader\n");
    dup2(copy, 1);
    say(1, "to where it was\n");
    close(copy);
    copy = open("/dev/null", O_WRONLY);
    say(copy, "to no reader\n");
    int myself = open(argv[0], O_RDONLY);
    char head[4];
    if (sendfile(1, myself, 0, 4) != 4 && errno == EINVAL) write(1, head, read(myself, head, 4));
    say(1, "\n");
    FILE *file = fdopen(high, "w");
    fprintf(file, "%s\n", strerror(dup2(99, 1) < 0 ? errno : 0));
    fclose(file);
    say(1, "the end\n");
}
"#;

#[test]
fn output_is_captured_from_every_descriptor_which_looks_like_a_pipe() {
    let home = Home::new();
    let program = compiled_text(&home, "prints", PRINTS, &["-w"]);
    let native = Command::new(&program).output().expect("it runs");
    let native = String::from_utf8_lossy(&native.stdout).into_owned();
    assert!(native.starts_with("1 1 0\n") && native.ends_with("the end\n"), "{native}");
    assert_eq!(home.heddle(["run", "--", &program]).stdout, native);
    // Redirected descriptors are restored by each reset.
    let search = ["explore", "--json", "--strategy", "random", "--max-executions", "50"];
    let report = home.heddle(search.iter().chain(&["--", &program])).report();
    assert_eq!((report.executions, report.bugs.len()), (50, 0), "{report:?}");
}

/// Prints one line.
const SAYS: &str = r#"
#include <pthread.h>
#include <stdio.h>
static void *task(void *nothing) { return nothing; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, task, 0);
    pthread_join(thread, 0);
    puts("done");
}
"#;

#[test]
fn the_output_of_a_run_is_shown_even_if_its_trace_cannot_be_stored() {
    let home = Home::new();
    let program = compiled_text(&home, "says", SAYS, &[]);
    // A file has the name of the directory of traces.
    std::fs::write(home.path().join("taken"), "").expect("written");
    let run = home.heddle(["run", "--points", "api", "--out", "taken", "--", &program]);
    assert_eq!(run.stdout, "done\n", "{run:?}");
    assert!(run.status != 0 && run.stderr.contains("no failure"), "{run:?}");
}
