// Thread and handler both print, but the signal is blocked while the thread does.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
static sigset_t set;
static void handler(int n) { printf("signal %d\n", n); }
static void *worker(void *u) {
    printf("working\n");
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    printf("done\n");
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
