// A thread takes the signal with sigwait and prints; the other thread prints, too. No handler runs.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
static sigset_t set;
static void *worker(void *u) {
    int n;
    sigwait(&set, &n);
    printf("signal %d\n", n);
    return u;
}
int main(void) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    printf("sent\n");
    pthread_join(a, 0);
    return 0;
}
