#include "two_threads.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static char command[] = "exit 0";
static char *arguments[] = {"sh", "-c", command, 0};

static void *start(void *unused) {
    pid_t child;
    int status;
    assert(posix_spawn(&child, "/bin/sh", 0, 0, arguments, environ) == 0);
    assert(waitpid(child, &status, 0) == child && status == 0);
    return unused;
}

static void *change(void *unused) {
    volatile char *digit = &command[5];
    *digit = '3';
    *digit = '0';
    return unused;
}

int main(void) {
    go(start, change);
}
