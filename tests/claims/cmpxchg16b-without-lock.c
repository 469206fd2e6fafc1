// Without the prefix `lock` the instruction is a read and a write.
#include "two_threads.h"

#include <stdint.h>

static uint64_t words[2] __attribute__((aligned(16)));

static void *a(void *unused) {
    uint64_t low = words[0], high = 0;
    char done;
    do {
        asm volatile("cmpxchg16b %1; setz %0"
                     : "=q"(done), "+m"(words), "+a"(low), "+d"(high)
                     : "b"(low + 1), "c"(0l)
                     : "memory");
    } while (!done);
    return unused;
}

int main(void) {
    go(a, a);
    if (words[0] != 2) abort();
    return 0;
}
