// Two threads add to one table with lsearch: one element can be lost.
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
static int table[4];
static size_t count;
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void *worker(void *u) {
    int key = 1;
    lsearch(&key, table, &count, sizeof key, compare);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int key = 2;
    lsearch(&key, table, &count, sizeof key, compare);
    pthread_join(a, 0);
    if (count != 2) abort();
    return 0;
}
