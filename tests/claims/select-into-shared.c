// select clears a set that main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/select.h>
#include <unistd.h>
static fd_set set;
static int ends[2];
static void *worker(void *u) {
    struct timeval none = {0, 0};
    select(ends[0] + 1, &set, 0, 0, &none);
    return u;
}
int main(void) {
    if (pipe(ends)) return 0;
    FD_SET(ends[0], &set);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = *(volatile long *)&set, after = *(volatile long *)&set;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
