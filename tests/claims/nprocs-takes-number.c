// The function reads a file, whose descriptor it has for a moment.
#include "two_threads.h"

#include <sys/sysinfo.h>

static int number, lowest;

static void *a(void *unused) {
    get_nprocs();
    return unused;
}

static void *b(void *unused) {
    number = dup(0);
    return unused;
}

int main(void) {
    lowest = dup(0);
    close(lowest);
    go(a, b);
    if (number != lowest) abort();
    return 0;
}
