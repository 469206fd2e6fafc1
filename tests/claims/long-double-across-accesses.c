// The sum is in an x87 register while the thread accesses memory that both share.
#include "two_threads.h"

static volatile int shared;
static volatile long double half = 0.5L;

static void *a(void *unused) {
    long double sum = half;
    shared++;
    sum += half;
    shared++;
    sum += half;
    if (sum != 1.5L) abort();
    return unused;
}

int main(void) {
    go(a, a);
    return 0;
}
