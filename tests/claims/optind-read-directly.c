// getopt changes optind, which main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *worker(void *u) {
    char *words[] = {"program", "-a", 0};
    getopt(2, words, "a");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int before = *(volatile int *)&optind, after = *(volatile int *)&optind;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
