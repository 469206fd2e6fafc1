// With the direction flag the last byte is written first.
#include "two_threads.h"

static volatile char bytes[32];

static void *a(void *unused) {
    volatile char *to = bytes + 31;
    long count = 32;
    asm volatile("std; rep stosb; cld" : "+D"(to), "+c"(count) : "a"(1) : "memory");
    return unused;
}

static void *b(void *unused) {
    char last = bytes[31], first = bytes[0];
    if (last && !first) abort();
    return unused;
}

int main(void) {
    go(a, b);
    return 0;
}
