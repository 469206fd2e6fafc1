#include "two_threads.h"

static volatile struct sigevent ev;
static timer_t t;
static volatile int got1, got2;

static void h1(int s) {
    got1 = 1;
}

static void h2(int s) {
    got2 = 1;
}

static void *a(void *unused) {
    timer_create(CLOCK_MONOTONIC, (void *)&ev, &t);
    return unused;
}

static void *b(void *unused) {
    ev.sigev_signo = SIGUSR2;
    ev.sigev_signo = SIGUSR1;
    return unused;
}

int main(void) {
    ev.sigev_notify = SIGEV_SIGNAL;
    ev.sigev_signo = SIGUSR1;
    sigset_t m, w;
    sigemptyset(&m);
    sigaddset(&m, SIGUSR1);
    sigaddset(&m, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &m, 0);
    go(a, b);
    struct itimerspec i = {{0, 0}, {0, 1000}};
    timer_settime(t, 0, &i, 0);
    int s;
    sigwait(&m, &s);
    if (s == SIGUSR2) abort();
    return 0;
}
