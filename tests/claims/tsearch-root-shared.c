// Two threads add to one tree with tsearch: one node can be lost.
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
static void *root;
static int keys[2] = {1, 2};
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void *worker(void *u) {
    tsearch(&keys[0], &root, compare);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    tsearch(&keys[1], &root, compare);
    pthread_join(a, 0);
    if (!tfind(&keys[0], &root, compare) || !tfind(&keys[1], &root, compare)) abort();
    return 0;
}
