#include "two_threads.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static pid_t child;
static char *arguments[] = {"true", 0};

static void *start(void *unused) {
    assert(posix_spawn(&child, "/bin/true", 0, 0, arguments, environ) == 0);
    assert(waitpid(-1, 0, 0) > 0);
    return unused;
}

static void *look(void *unused) {
    assert(child == 0);
    return unused;
}

int main(void) {
    go(start, look);
}
