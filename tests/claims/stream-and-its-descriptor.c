// The file of a stream grows when the stream is flushed.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
static FILE *file;
static void *worker(void *u) {
    fputs("b", file);
    fflush(file);
    return u;
}
int main(void) {
    pthread_t a;
    struct stat status;
    file = tmpfile();
    pthread_create(&a, 0, worker, 0);
    fstat(fileno(file), &status);
    pthread_join(a, 0);
    if (status.st_size) abort();
    return 0;
}
