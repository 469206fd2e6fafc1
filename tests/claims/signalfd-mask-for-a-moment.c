#include "two_threads.h"

static sigset_t m1, m2;
static int f, r;

static void *a(void *unused) {
    char buf[128];
    r = read(f, buf, 128);
    return unused;
}

static void *b(void *unused) {
    signalfd(f, &m2, 0);
    signalfd(f, &m1, 0);
    return unused;
}

int main(void) {
    sigemptyset(&m1);
    sigemptyset(&m2);
    sigaddset(&m1, SIGUSR1);
    sigaddset(&m2, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &m1, 0);
    f = signalfd(-1, &m1, 04000);
    pthread_kill(pthread_self(), 0);
    kill(getpid(), SIGUSR1);
    go(a, b);
    if (r != 128) abort();
    return 0;
}
