// The time of a wait is read when the wait begins.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static struct timespec limit;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static void *worker(void *u) {
    pthread_mutex_lock(&lock);
    if (pthread_cond_timedwait(&change, &lock, &limit) == EINVAL) abort();
    pthread_mutex_unlock(&lock);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    *(volatile long *)&limit.tv_nsec = -1;
    *(volatile long *)&limit.tv_nsec = 0;
    pthread_join(a, 0);
    return 0;
}
