// Threads without attributes have the default ones: detached, with a policy.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
static sem_t done;
static int detached, inherits, policy;
static struct sched_param param;
static void *worker(void *u) {
    pthread_attr_t mine;
    pthread_getattr_np(pthread_self(), &mine);
    pthread_attr_getdetachstate(&mine, &detached);
    pthread_attr_getinheritsched(&mine, &inherits);
    pthread_attr_getschedpolicy(&mine, &policy);
    pthread_attr_getschedparam(&mine, &param);
    pthread_attr_destroy(&mine);
    sem_post(&done);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_attr_t given;
    struct sched_param own = { .sched_priority = 7 };
    sem_init(&done, 0, 0);
    pthread_attr_init(&given);
    pthread_attr_setdetachstate(&given, PTHREAD_CREATE_DETACHED);
    pthread_attr_setinheritsched(&given, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&given, SCHED_RR);
    pthread_attr_setschedparam(&given, &own);
    assert(!pthread_setattr_default_np(&given));
    assert(!pthread_create(&a, 0, worker, 0));
    sem_wait(&done);
    assert(detached == PTHREAD_CREATE_DETACHED && inherits == PTHREAD_EXPLICIT_SCHED);
    assert(policy == SCHED_RR && param.sched_priority == 7);
    return 0;
}
