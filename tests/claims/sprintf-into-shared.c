// sprintf writes as many bytes as the text has. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static char text[16] = "zzzzzzz";
static void *worker(void *u) {
    sprintf(text, "%s-%03d", "ab", 5);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(text[5]) *)&text[5];
    long after = (long)*(volatile __typeof__(text[5]) *)&text[5];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
