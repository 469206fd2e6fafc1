#include <sys/resource.h>

#include "two_threads.h"

static int result;

static void *lower(void *unused) {
    // Whether that is allowed depends on the privileges and on RLIMIT_NICE.
    result = setpriority(PRIO_PROCESS, 0, -3);
    return unused;
}

static void *nothing(void *unused) { return unused; }

int main(void) {
    int allowed = setpriority(PRIO_PROCESS, getpid(), -3);
    go(lower, nothing);
    assert(result == allowed);
}
