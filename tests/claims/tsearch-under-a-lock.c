// Two threads add to one tree with tsearch under a lock.
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
static void *root;
static int keys[2] = {1, 2};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void add(int *key) {
    pthread_mutex_lock(&lock);
    tsearch(key, &root, compare);
    pthread_mutex_unlock(&lock);
}
static void *worker(void *u) {
    add(&keys[0]);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    add(&keys[1]);
    pthread_join(a, 0);
    if (!tfind(&keys[0], &root, compare) || !tfind(&keys[1], &root, compare)) abort();
    return 0;
}
