// A thread sleeps for two minutes under a lock; the limit of a minute on that lock passes first.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t b;
static void *worker(void *u) {
    pthread_mutex_lock(&m);
    pthread_barrier_wait(&b);
    sleep(120);
    pthread_mutex_unlock(&m);
    return u;
}
int main(void) {
    pthread_barrier_init(&b, 0, 2);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_barrier_wait(&b);
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    assert(pthread_mutex_timedlock(&m, &limit) == ETIMEDOUT);
    pthread_join(a, 0);
    return 0;
}
