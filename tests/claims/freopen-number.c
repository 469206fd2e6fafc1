// The stream has two descriptors for a moment.
#include "two_threads.h"

static FILE *stream;
static int number, lowest;

static void *a(void *unused) {
    freopen("/dev/null", "r", stream);
    return unused;
}

static void *b(void *unused) {
    number = dup(0);
    return unused;
}

int main(void) {
    stream = fopen("/dev/null", "r");
    lowest = dup(0);
    close(lowest);
    go(a, b);
    if (number != lowest) abort();
    return 0;
}
