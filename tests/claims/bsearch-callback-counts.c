// The comparison of two bsearch calls counts its calls without a lock.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static int values[3] = {1, 2, 3}, calls;
static int compare(const void *a, const void *b) {
    calls++;
    return *(const int *)a - *(const int *)b;
}
static void *worker(void *u) {
    int key = 2;
    bsearch(&key, values, 3, sizeof key, compare);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int key = 2;
    bsearch(&key, values, 3, sizeof key, compare);
    pthread_join(a, 0);
    if (calls != 2) abort();
    return 0;
}
