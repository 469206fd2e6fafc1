// A thread unblocks a signal around two stores: the handler can run between them.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static volatile int x;
static sigset_t set;
static void handler(int n) { if (x == 1) abort(); }
static void *worker(void *u) {
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    x = 1;
    x = 2;
    pthread_sigmask(SIG_BLOCK, &set, 0);
    return u;
}
int main(void) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    signal(SIGUSR1, handler);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, 0);
    return 0;
}
