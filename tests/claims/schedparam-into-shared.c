// pthread_getschedparam stores the policy. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
static int policy = 9;
static void *worker(void *u) {
    struct sched_param parameter;
    pthread_getschedparam(pthread_self(), &policy, &parameter);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(policy) *)&policy;
    long after = (long)*(volatile __typeof__(policy) *)&policy;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
