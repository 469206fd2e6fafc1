// The instruction reads one variable and then writes the other.
#include "two_threads.h"

static volatile long from, to = 9;

static void *a(void *unused) {
    volatile long *source = &from, *destination = &to;
    asm volatile("movsq" : "+S"(source), "+D"(destination) : : "memory");
    return unused;
}

static void *b(void *unused) {
    from = 1;
    to = 5;
    return unused;
}

int main(void) {
    go(a, b);
    if (to == 0) abort();
    return 0;
}
