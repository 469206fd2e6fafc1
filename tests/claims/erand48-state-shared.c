// Two threads draw from one state with erand48: one step of it can be lost.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static unsigned short state[3] = {1, 2, 3};
static void *worker(void *u) {
    erand48(state);
    return u;
}
int main(void) {
    unsigned short twice[3] = {1, 2, 3};
    erand48(twice);
    erand48(twice);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    erand48(state);
    pthread_join(a, 0);
    if (memcmp(twice, state, sizeof state)) abort();
    return 0;
}
