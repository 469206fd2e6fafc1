// Two threads write to one stream: either can be first.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static FILE *file;
static void *worker(void *u) {
    fputc('b', file);
    return u;
}
int main(void) {
    pthread_t a;
    file = tmpfile();
    pthread_create(&a, 0, worker, 0);
    fputc('a', file);
    pthread_join(a, 0);
    rewind(file);
    if (fgetc(file) == 'b') abort();
    return 0;
}
