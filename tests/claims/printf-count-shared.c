// printf stores how many characters it printed where main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int count;
static void *worker(void *u) {
    char text[8];
    snprintf(text, sizeof text, "a%n", &count);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int before = *(volatile int *)&count, after = *(volatile int *)&count;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
