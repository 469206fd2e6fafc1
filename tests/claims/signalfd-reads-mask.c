#include "two_threads.h"

static volatile unsigned long mask[16];
static int f;

static void *a(void *unused) {
    f = signalfd(-1, (void *)mask, 04000);
    return unused;
}

static void *b(void *unused) {
    mask[0] = 1 << (SIGUSR2 - 1);
    mask[0] = 1 << (SIGUSR1 - 1);
    return unused;
}

int main(void) {
    mask[0] = 1 << (SIGUSR1 - 1);
    sigset_t m;
    sigemptyset(&m);
    sigaddset(&m, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &m, 0);
    go(a, b);
    raise(SIGUSR1);
    char buf[128];
    if (read(f, buf, 128) != 128) abort();
    return 0;
}
