// readv fills a buffer that main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
static char text[4];
static int ends[2];
static void *worker(void *u) {
    struct iovec buffer = {text, 1};
    readv(ends[0], &buffer, 1);
    return u;
}
int main(void) {
    if (pipe(ends) || write(ends[1], "a", 1) != 1) return 0;
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char before = *(volatile char *)&text[0], after = *(volatile char *)&text[0];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
