#include "two_threads.h"

static volatile unsigned short p[7] = {1, 2, 3, 4, 5, 6, 7};
static struct drand48_data d;

static void *a(void *unused) {
    lcong48_r((void *)p, &d);
    return unused;
}

static void *b(void *unused) {
    p[6] = 9;
    p[6] = 7;
    return unused;
}

int main(void) {
    go(a, b);
    if (d.__c == 9) abort();
    return 0;
}
