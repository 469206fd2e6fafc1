// clock_gettime is called through a pointer and fills a time that main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static struct timespec now;
static int (*volatile get)(clockid_t, struct timespec *) = clock_gettime;
static void *worker(void *u) {
    get(CLOCK_REALTIME, &now);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = *(volatile long *)&now.tv_sec, after = *(volatile long *)&now.tv_sec;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
