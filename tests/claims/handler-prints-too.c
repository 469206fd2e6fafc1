// A thread and the handler that interrupts it both print to standard output: not async-signal-safe.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
static void handler(int n) { printf("signal %d\n", n); }
static void *worker(void *u) {
    printf("working\n");
    return u;
}
int main(void) {
    signal(SIGUSR1, handler);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, 0);
    return 0;
}
