// The kernel reports the priority to which a mutex raises its holder, the C library the thread's own.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
static pthread_mutex_t low, high;
static int reported(void) {
    struct sched_param param;
    int policy;
    pthread_getschedparam(pthread_self(), &policy, &param);
    assert(policy == SCHED_FIFO && param.sched_priority == 3);
    sched_getparam(0, &param);
    return param.sched_priority;
}
static void *worker(void *u) {
    struct sched_param own = { .sched_priority = 3 };
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &own);
    assert(reported() == 3);
    pthread_mutex_lock(&low);
    assert(reported() == 5);
    pthread_mutex_lock(&high);
    assert(reported() == 9);
    pthread_mutex_unlock(&low);
    assert(reported() == 9);
    pthread_mutex_unlock(&high);
    assert(reported() == 3);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_PROTECT);
    pthread_mutexattr_setprioceiling(&kind, 5);
    pthread_mutex_init(&low, &kind);
    pthread_mutexattr_setprioceiling(&kind, 9);
    pthread_mutex_init(&high, &kind);
    pthread_create(&a, 0, worker, 0);
    pthread_join(a, 0);
    return 0;
}
