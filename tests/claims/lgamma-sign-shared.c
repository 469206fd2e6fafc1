// Two threads call lgamma, which stores the sign in a variable of the library.
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
static volatile double one = -0.5, other = 1.5;
static void *worker(void *u) {
    lgamma(one);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    lgamma(other);
    if (signgam != 1) abort();
    pthread_join(a, 0);
    return 0;
}
