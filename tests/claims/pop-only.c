// One thread pops a number into the variable that the other reads.
#include "two_threads.h"

static long shared;
static volatile long *pointer = &shared;

static void *a(void *unused) {
    asm volatile("sub $128, %%rsp; pushq $9; popq %0; add $128, %%rsp" : "=m"(shared));
    return unused;
}

static void *b(void *unused) {
    (void)*pointer;
    return unused;
}

int main(void) {
    go(a, b);
    return 0;
}
