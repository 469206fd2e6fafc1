#include "two_threads.h"

static volatile int f;

static void *a(void *unused) {
    syscall(SYS_futex, &f, 8 | 128, 0, 0, 0, 0);
    return unused;
}

static void *b(void *unused) {
    int t = f;
    f = t;
    return unused;
}

int main(void) {
    go(a, b);
    if (!f) abort();
    return 0;
}
