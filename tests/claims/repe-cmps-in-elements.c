// The two bytes are compared one after the other: they are equal to "ac" at no moment.
#include "two_threads.h"

static volatile char bytes[8] = "ab";
static char equal;

static void *a(void *unused) {
    const char wanted[] = "ac";
    const volatile char *one = bytes;
    const char *other = wanted;
    long count = 2;
    asm volatile("repe cmpsb; sete %0" : "=q"(equal), "+S"(one), "+D"(other), "+c"(count) : : "memory", "cc");
    return unused;
}

static void *b(void *unused) {
    bytes[0] = 'q';
    bytes[1] = 'c';
    return unused;
}

int main(void) {
    go(a, b);
    if (equal) abort();
    return 0;
}
