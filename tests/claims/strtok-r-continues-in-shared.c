// strtok_r continues where its third argument leads, and ends a token there. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char text[] = "ab cd ef", *next;
static void *worker(void *u) {
    strtok_r(0, " ", &next);
    return u;
}
int main(void) {
    pthread_t a;
    strtok_r(text, " ", &next);
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(text[5]) *)&text[5];
    long after = (long)*(volatile __typeof__(text[5]) *)&text[5];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
