// sscanf writes what it has read. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int value = 9;
static void *worker(void *u) {
    int other;
    sscanf("4 5", "%d %d", &other, &value);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(value) *)&value;
    long after = (long)*(volatile __typeof__(value) *)&value;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
