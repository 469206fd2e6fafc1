#include "two_threads.h"

static void *r;

static void *a(void *unused) {
    r = mmap((void *)0x123450000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return unused;
}

static void *b(void *unused) {
    mmap((void *)0x123450000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    munmap((void *)0x123450000, 4096);
    return unused;
}

int main(void) {
    go(a, b);
    if (r == MAP_FAILED) abort();
    return 0;
}
