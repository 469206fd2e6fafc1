#include "two_threads.h"

static struct random_data rd, rd0;
static int32_t st[2], st0[2], want, r;

static void *a(void *unused) {
    random_r(&rd, &r);
    return unused;
}

static void *b(void *unused) {
    volatile int32_t *p = st;
    int old = p[1];
    p[1] = old + 1;
    p[1] = old;
    return unused;
}

int main(void) {
    initstate_r(1, (char *)st0, 8, &rd0);
    random_r(&rd0, &want);
    initstate_r(1, (char *)st, 8, &rd);
    go(a, b);
    if (r != want) abort();
    return 0;
}
