// The signal is blocked; the call handles it if its own mask does not block it, also without time.
#include "two_threads.h"

static volatile unsigned long mask = 1ul << (SIGUSR1 - 1);
static volatile int handled;

static void handler(int signal) {
    handled = 1;
}

static void *a(void *unused) {
    struct timespec none = {0, 0};
    pselect(0, 0, 0, 0, &none, (sigset_t *)&mask);
    return unused;
}

static void *b(void *unused) {
    mask = 0;
    mask = 1ul << (SIGUSR1 - 1);
    return unused;
}

int main(void) {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    signal(SIGUSR1, handler);
    pthread_sigmask(SIG_BLOCK, &blocked, 0);
    kill(getpid(), SIGUSR1);
    go(a, b);
    if (handled) abort();
    return 0;
}
