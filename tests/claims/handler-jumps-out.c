// A handler leaves main between two stores by a jump.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
static sigjmp_buf before;
static volatile int half;
static pthread_t first;
static void handle(int signal) { siglongjmp(before, signal); }
static void *worker(void *u) {
    pthread_kill(first, SIGUSR1);
    return u;
}
int main(void) {
    pthread_t a;
    first = pthread_self();
    if (sigsetjmp(before, 1)) {
        if (half) abort();
        return 0;
    }
    signal(SIGUSR1, handle);
    pthread_create(&a, 0, worker, 0);
    half = 1;
    half = 0;
    pthread_join(a, 0);
    return 0;
}
