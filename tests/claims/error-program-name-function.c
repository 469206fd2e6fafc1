#include "two_threads.h"

static int called;

static void pn(void) {
    called = 1;
}

static void *a(void *unused) {
    error(0, 0, "x");
    return unused;
}

static void *b(void *unused) {
    void (*volatile *p)(void) = (void *)&error_print_progname;
    *p = pn;
    *p = 0;
    return unused;
}

int main(void) {
    go(a, b);
    if (called) abort();
    return 0;
}
