// The byte that the other thread stores may be repeated up to the end.
#include "two_threads.h"

static char bytes[32] __attribute__((aligned(16)));

static void *a(void *unused) {
    char *to = bytes + 1, *from = bytes;
    long count = 31;
    bytes[0] = 7;
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    return unused;
}

static void *b(void *unused) {
    *(volatile char *)&bytes[16] = 9;
    return unused;
}

int main(void) {
    go(a, b);
    if (bytes[31] == 9) abort();
    return 0;
}
