// The other thread rewinds between the seek and the read.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static FILE *file;
static void *worker(void *u) {
    fseek(file, 1, SEEK_SET);
    if (fgetc(file) != 'b') abort();
    return u;
}
int main(void) {
    pthread_t a;
    file = tmpfile();
    fputs("abc", file);
    pthread_create(&a, 0, worker, 0);
    rewind(file);
    pthread_join(a, 0);
    return 0;
}
