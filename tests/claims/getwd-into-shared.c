#include "two_threads.h"

static volatile char buf[4096];

static void *a(void *unused) {
    getwd((char *)buf);
    return unused;
}

static void *b(void *unused) {
    buf[0] = 7;
    if (buf[0] != 7) abort();
    return unused;
}

int main(void) {
    go(a, b);
    return 0;
}
