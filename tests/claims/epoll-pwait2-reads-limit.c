#include "two_threads.h"

static volatile struct timespec lim;
static int ep, p[2], n;

static void *a(void *unused) {
    struct epoll_event e;
    n = epoll_pwait2(ep, &e, 1, (void *)&lim, 0);
    return unused;
}

static void *b(void *unused) {
    lim.tv_nsec = -1;
    lim.tv_nsec = 0;
    return unused;
}

int main(void) {
    ep = epoll_create1(0);
    go(a, b);
    if (n < 0) abort();
    return 0;
}
