// The function reads a file, whose descriptor it has for a moment.
#include "two_threads.h"

#include <pwd.h>

static struct passwd entry, *found;
static char buffer[1024];
static int number, lowest;

static void *a(void *unused) {
    getpwnam_r("root", &entry, buffer, sizeof buffer, &found);
    return unused;
}

static void *b(void *unused) {
    number = dup(0);
    return unused;
}

int main(void) {
    getpwnam_r("root", &entry, buffer, sizeof buffer, &found);
    lowest = dup(0);
    close(lowest);
    go(a, b);
    if (number != lowest) abort();
    return 0;
}
