// pthread_key_create stores the key. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static pthread_key_t key = 99;
static void *worker(void *u) {
    pthread_key_create(&key, 0);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(key) *)&key;
    long after = (long)*(volatile __typeof__(key) *)&key;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
