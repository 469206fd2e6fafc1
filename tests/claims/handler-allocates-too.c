// A thread and the handler that interrupts it both allocate memory: not async-signal-safe.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static void *volatile kept, *volatile mine;
static void handler(int n) {
    mine = malloc(16);
    free(mine);
}
static void *worker(void *u) {
    kept = malloc(100);
    return u;
}
int main(void) {
    signal(SIGUSR1, handler);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, 0);
    free(kept);
    return 0;
}
