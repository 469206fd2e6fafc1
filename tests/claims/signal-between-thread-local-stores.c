// A thread changes a thread-local variable twice, and the handler of a signal reads it in between.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static __thread volatile int x;
static void handler(int n) { if (x == 1) abort(); }
static void *worker(void *u) {
    x = 1;
    x = 2;
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
