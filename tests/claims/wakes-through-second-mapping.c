#include <linux/futex.h>

#include "two_threads.h"

static volatile int *first, *second;

static void *wait_for_one(void *unused) {
    while (*first == 0) syscall(SYS_futex, first, FUTEX_WAIT, 0, 0);
    return unused;
}

static void *store_one(void *unused) {
    *second = 1;
    syscall(SYS_futex, second, FUTEX_WAKE, 1);
    return unused;
}

int main(void) {
    int memory = memfd_create("word", 0);
    assert(ftruncate(memory, 4096) == 0);
    first = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    second = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    go(wait_for_one, store_one);
}
