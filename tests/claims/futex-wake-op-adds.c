#include "two_threads.h"

static volatile int f1, f2;

static void *a(void *unused) {
    syscall(SYS_futex, &f1, 5 | 128, 0, 0, &f2, (1 << 28) | (1 << 12));
    return unused;
}

static void *b(void *unused) {
    int t = f2;
    f2 = t + 1;
    return unused;
}

int main(void) {
    go(a, b);
    if (f2 != 2) abort();
    return 0;
}
