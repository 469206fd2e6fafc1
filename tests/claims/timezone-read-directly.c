// tzset changes timezone, which main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static void *worker(void *u) {
    tzset();
    return u;
}
int main(void) {
    setenv("TZ", "XYZ5", 1);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = *(volatile long *)&timezone, after = *(volatile long *)&timezone;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
