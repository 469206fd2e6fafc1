// Two threads print texts of 30 characters into one buffer: what is there at the end can be of both.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static char text[64];
static void *worker(void *u) {
    snprintf(text, sizeof text, "%s", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    snprintf(text, sizeof text, "%s", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    pthread_join(a, 0);
    if (text[0] != text[29]) abort();
    return 0;
}
