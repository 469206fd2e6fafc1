// sigaction stores the old action where main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static struct sigaction old;
static void *worker(void *u) {
    sigaction(SIGUSR1, 0, &old);
    return u;
}
int main(void) {
    signal(SIGUSR1, SIG_IGN);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = *(volatile long *)&old, after = *(volatile long *)&old;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
