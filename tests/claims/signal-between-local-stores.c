// A thread changes a variable on its own stack twice, and the handler of a signal reads it by its address.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static volatile int *volatile published;
static void handler(int n) { if (published && *published == 1) abort(); }
static void *worker(void *u) {
    volatile int x = 0;
    published = &x;
    x = 1;
    x = 2;
    published = 0;
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
