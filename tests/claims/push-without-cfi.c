// The unwind tables do not describe the stack within the assembler: the pushed number is no return address.
#include "two_threads.h"

static long shared;
static volatile long *pointer = &shared;
static long result;

__attribute__((noinline)) static long load(void) {
    long value;
    asm volatile("sub $128, %%rsp; pushq $9; movq %1, %0; add $136, %%rsp" : "=r"(value) : "m"(shared));
    return value;
}

static void *a(void *unused) {
    result = load();
    return unused;
}

static void *b(void *unused) {
    *pointer = 7;
    return unused;
}

int main(void) {
    go(a, b);
    return 0;
}
