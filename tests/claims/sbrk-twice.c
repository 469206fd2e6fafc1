#include "two_threads.h"

static char *r[2];

static void *a(void *unused) {
    r[0] = sbrk(16);
    return unused;
}

static void *b(void *unused) {
    r[1] = sbrk(16);
    return unused;
}

int main(void) {
    go(a, b);
    if (r[0] == r[1]) abort();
    return 0;
}
