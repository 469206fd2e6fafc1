// A stream in memory updates the size that main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static char *text;
static size_t size;
static FILE *out;
static void *worker(void *u) {
    fputc('x', out);
    fflush(out);
    return u;
}
int main(void) {
    out = open_memstream(&text, &size);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = *(volatile long *)&size, after = *(volatile long *)&size;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
