// Two threads read the time stamp counter: the one that began later can be first.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <x86intrin.h>
static volatile unsigned long theirs;
static void *worker(void *u) {
    theirs = __rdtsc();
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    unsigned long own = __rdtsc();
    pthread_join(a, 0);
    if (theirs < own) abort();
    return 0;
}
