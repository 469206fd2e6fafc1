// pthread_join stores the result of the thread. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static void *result;
static pthread_t other;
static void *one(void *u) { return (void *)((long)u + 1); }
static void *worker(void *u) {
    pthread_join(other, &result);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&other, 0, one, 0);
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(result) *)&result;
    long after = (long)*(volatile __typeof__(result) *)&result;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
