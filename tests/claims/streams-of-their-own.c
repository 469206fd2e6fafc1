// Each thread uses its own stream.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *worker(void *u) {
    FILE *file = tmpfile();
    int value = 0;
    fprintf(file, "%d", 5);
    rewind(file);
    fscanf(file, "%d", &value);
    fclose(file);
    if (value != 5) abort();
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_join(a, 0);
    return 0;
}
