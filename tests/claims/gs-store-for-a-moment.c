// The base of `gs` is 0, as the kernel sets it.
#include "two_threads.h"

static volatile int shared;

static void *a(void *unused) {
    asm volatile("movl $1, %%gs:(%0); movl $0, %%gs:(%0)" : : "r"(&shared) : "memory");
    return unused;
}

static void *b(void *unused) {
    if (shared) abort();
    return unused;
}

int main(void) {
    go(a, b);
    return 0;
}
