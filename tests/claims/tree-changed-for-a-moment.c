// A key is in the tree for a moment.
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
static void *root;
static int one = 1, two = 2;
static int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }
static void *worker(void *u) {
    if (tfind(&one, &root, compare)) abort();
    return u;
}
int main(void) {
    pthread_t a;
    tsearch(&two, &root, compare);
    pthread_create(&a, 0, worker, 0);
    tsearch(&one, &root, compare);
    tdelete(&one, &root, compare);
    pthread_join(a, 0);
    return 0;
}
