// Two threads draw from one state with random_r: both can draw the same number.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static struct random_data data;
static char state[64];
static int drawn[2];
static void *worker(void *u) {
    random_r(&data, &drawn[1]);
    return u;
}
int main(void) {
    initstate_r(1, state, sizeof state, &data);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    random_r(&data, &drawn[0]);
    pthread_join(a, 0);
    if (drawn[0] == drawn[1]) abort();
    return 0;
}
