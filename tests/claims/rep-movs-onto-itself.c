// The first byte is repeated in all others, as decompressors copy matches; the other thread only reads one.
#include "two_threads.h"

static char bytes[32] __attribute__((aligned(16)));

static void *a(void *unused) {
    char *to = bytes + 1, *from = bytes;
    long count = 31;
    bytes[0] = 7;
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    if (bytes[31] != 7) abort();
    return unused;
}

static void *b(void *unused) {
    (void)*(volatile char *)&bytes[20];
    return unused;
}

int main(void) {
    go(a, b);
    return 0;
}
