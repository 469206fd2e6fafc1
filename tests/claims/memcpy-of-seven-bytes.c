// The library copies seven bytes in parts.
#include "two_threads.h"

static volatile char from[8] __attribute__((aligned(8)));
static char to[8] __attribute__((aligned(8)));
static volatile int size = 7;

static void *a(void *unused) {
    memcpy(to, (char *)from, size);
    return unused;
}

static void *b(void *unused) {
    from[0] = 1;
    from[6] = 1;
    return unused;
}

int main(void) {
    go(a, b);
    if (to[6] && !to[0]) abort();
    return 0;
}
