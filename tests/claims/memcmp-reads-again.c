// The bytes that differ are read once more, and may be equal by then.
#include "two_threads.h"

static volatile char bytes[8];
static volatile int size = 3;
static int order = 5;

static void *a(void *unused) {
    order = memcmp((char *)bytes, "\0\0\1", size);
    return unused;
}

static void *b(void *unused) {
    bytes[0] = 1;
    bytes[2] = 1;
    return unused;
}

int main(void) {
    go(a, b);
    if (order == 0) abort();
    return 0;
}
