// strtol stores the end of the number where main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static char *end;
static void *worker(void *u) {
    strtol("1", &end, 10);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = *(volatile long *)&end, after = *(volatile long *)&end;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
