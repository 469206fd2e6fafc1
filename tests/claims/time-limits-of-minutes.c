// Each wait has a limit of minutes, and ends as soon as the other thread has run.
#define _GNU_SOURCE
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t s;
static int ends[2];
static void *worker(void *u) {
    pthread_mutex_lock(&m);
    pthread_rwlock_wrlock(&rw);
    pthread_rwlock_unlock(&rw);
    pthread_mutex_unlock(&m);
    sem_post(&s);
    assert(write(ends[1], "x", 1) == 1);
    return u;
}
int main(void) {
    sem_init(&s, 0, 0);
    assert(pipe(ends) == 0);
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 100;
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    assert(pthread_mutex_timedlock(&m, &limit) == 0);
    pthread_mutex_unlock(&m);
    assert(pthread_rwlock_timedrdlock(&rw, &limit) == 0);
    pthread_rwlock_unlock(&rw);
    assert(sem_timedwait(&s, &limit) == 0);
    struct pollfd input = {ends[0], POLLIN, 0};
    assert(poll(&input, 1, 100000) == 1);
    assert(pthread_timedjoin_np(a, 0, &limit) == 0);
    return 0;
}
