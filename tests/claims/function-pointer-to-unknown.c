// argz_add is called through a pointer and increases a length that another thread reads: it can be seen increased.
#define _GNU_SOURCE
#include <argz.h>
#include <pthread.h>
#include <stdlib.h>
static char *list;
static size_t length;
static error_t (*volatile add)(char **, size_t *, const char *) = argz_add;
static void *worker(void *u) {
    add(&list, &length, "one");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    size_t seen = *(volatile size_t *)&length;
    pthread_join(a, 0);
    if (seen) abort();
    return 0;
}
