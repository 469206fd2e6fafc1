#include "two_threads.h"

static volatile int *first, *second;

static void *add_to_first(void *unused) {
    ++*first;
    return unused;
}

static void *add_to_second(void *unused) {
    ++*second;
    return unused;
}

int main(void) {
    first = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    // An old size of 0 maps the same memory at a second address.
    second = mremap((void *)first, 0, 4096, MREMAP_MAYMOVE);
    go(add_to_first, add_to_second);
    assert(*first == 2);
}
