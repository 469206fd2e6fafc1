// lsearch is called through a pointer and increases a count that another thread reads: it can be seen increased.
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
static int table[8];
static size_t count;
static int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }
static void *(*volatile find)(const void *, void *, size_t *, size_t, int (*)(const void *, const void *)) = lsearch;
static void *worker(void *u) {
    int key = 5;
    find(&key, table, &count, sizeof key, compare);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    size_t seen = *(volatile size_t *)&count;
    pthread_join(a, 0);
    if (seen) abort();
    return 0;
}
