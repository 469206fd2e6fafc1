// getrlimit fills a structure that main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
static struct rlimit limit;
static void *worker(void *u) {
    getrlimit(RLIMIT_NOFILE, &limit);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = *(volatile long *)&limit.rlim_max, after = *(volatile long *)&limit.rlim_max;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
