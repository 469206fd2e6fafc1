#include "two_threads.h"

static pthread_t me;
static volatile int in;

static void h(int s) {
    if (in) abort();
    in = 1;
    (void)in;
    in = 0;
}

static void *a(void *unused) {
    pthread_kill(me, SIGUSR1);
    return unused;
}

static void *b(void *unused) {
    pthread_kill(me, SIGUSR1);
    return unused;
}

int main(void) {
    struct sigaction s = {0};
    s.sa_handler = h;
    s.sa_flags = SA_NODEFER;
    sigaction(SIGUSR1, &s, 0);
    me = pthread_self();
    go(a, b);
    return 0;
}
