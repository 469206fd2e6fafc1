// preadv fills the second of two buffers, which main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
static char first[1], text[4];
static int file;
static void *worker(void *u) {
    struct iovec buffers[2] = {{first, 1}, {text, 1}};
    preadv(file, buffers, 2, 0);
    return u;
}
int main(void) {
    file = fileno(tmpfile());
    if (write(file, "ab", 2) != 2) return 0;
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char before = *(volatile char *)&text[0], after = *(volatile char *)&text[0];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
