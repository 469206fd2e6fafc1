// pipe stores its descriptors where main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int ends[2];
static void *worker(void *u) {
    if (pipe(ends)) abort();
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int before = *(volatile int *)&ends[1], after = *(volatile int *)&ends[1];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
