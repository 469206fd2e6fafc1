#include "two_threads.h"

static void *volatile ar[1];
static char **r;

static void *a(void *unused) {
    r = backtrace_symbols((void **)ar, 1);
    return unused;
}

static void *b(void *unused) {
    ar[0] = (void *)1;
    ar[0] = (void *)go;
    return unused;
}

int main(void) {
    ar[0] = (void *)go;
    go(a, b);
    if (!strchr(r[0], '(')) abort();
    return 0;
}
