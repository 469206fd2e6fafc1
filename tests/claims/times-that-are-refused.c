// Times that are negative, past or too large, and clocks that do not exist, get the kernel's answers.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#define FAILS(error, call) assert((call) == -1 && errno == (error))
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static const struct timespec negative = { -1, 0 }, large = { 0, 1000000000 }, below = { 0, -1 };
static const struct timespec zero = { 0, 0 };
static void *waiter(void *u) {
    assert(pthread_mutex_timedlock(&held, &negative) == ETIMEDOUT);
    assert(pthread_mutex_timedlock(&held, &zero) == ETIMEDOUT);
    assert(pthread_mutex_timedlock(&held, &large) == EINVAL);
    assert(pthread_mutex_timedlock(&held, &below) == EINVAL);
    assert(pthread_rwlock_timedrdlock(&rw, &negative) == ETIMEDOUT);
    assert(pthread_rwlock_timedrdlock(&rw, &large) == EINVAL);
    assert(pthread_mutex_clocklock(&held, 4711, &zero) == EINVAL);
    return u;
}
int main(void) {
    struct timespec rest;
    FAILS(EINVAL, nanosleep(&negative, &rest));
    FAILS(EINVAL, nanosleep(&large, &rest));
    FAILS(EINVAL, nanosleep(&below, &rest));
    assert(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &negative, 0) == EINVAL);
    assert(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &zero, 0) == 0);
    assert(clock_nanosleep(4711, 0, &zero, 0) == EINVAL);
    FAILS(EINVAL, clock_gettime(4711, &rest));
    FAILS(EINVAL, clock_getres(4711, &rest));
    pthread_mutex_lock(&m);
    assert(pthread_cond_timedwait(&c, &m, &negative) == ETIMEDOUT);
    assert(pthread_cond_timedwait(&c, &m, &large) == EINVAL);
    assert(pthread_cond_timedwait(&c, &m, &zero) == ETIMEDOUT);
    assert(pthread_cond_clockwait(&c, &m, 4711, &zero) == EINVAL);
    sem_t s;
    sem_init(&s, 0, 0);
    FAILS(ETIMEDOUT, sem_timedwait(&s, &negative));
    FAILS(EINVAL, sem_timedwait(&s, &large));
    FAILS(EINVAL, sem_timedwait(&s, &below));
    FAILS(EINVAL, sem_clockwait(&s, 4711, &zero));
    sem_post(&s);
    assert(sem_timedwait(&s, &negative) == 0);
    FAILS(EINVAL, ppoll(0, 0, &negative, 0));
    FAILS(EINVAL, ppoll(0, 0, &large, 0));
    struct timeval before = { -1, 0 }, micro = { 0, 1000000 };
    FAILS(EINVAL, select(0, 0, 0, 0, &before));
    assert(select(0, 0, 0, 0, &micro) == 0);
    FAILS(EINVAL, pselect(0, 0, 0, 0, &large, 0));
    int e = epoll_create1(0);
    struct epoll_event event;
    FAILS(EINVAL, epoll_pwait2(e, &event, 1, &negative, 0));
    struct itimerval wrong = { { 0, 0 }, { 0, 1000000 } };
    FAILS(EINVAL, setitimer(ITIMER_REAL, &wrong, 0));
    FAILS(EINVAL, setitimer(77, &(struct itimerval){ 0 }, 0));
    FAILS(EINVAL, timerfd_create(4711, 0));
    int t = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec bad = { { 0, 0 }, { -1, 0 } };
    FAILS(EINVAL, timerfd_settime(t, 0, &bad, 0));
    timer_t timer;
    FAILS(EINVAL, timer_create(4711, 0, &timer));
    assert(timer_create(CLOCK_MONOTONIC, &(struct sigevent){ .sigev_notify = SIGEV_NONE }, &timer) == 0);
    FAILS(EINVAL, timer_settime(timer, 0, &bad, 0));
    struct itimerspec far = { { 0, 0 }, { LONG_MAX, 0 } };
    assert(timer_settime(timer, 0, &far, 0) == 0);
    sigset_t set;
    sigemptyset(&set);
    FAILS(EINVAL, sigtimedwait(&set, 0, &negative));
    FAILS(EINVAL, sigtimedwait(&set, 0, &large));
    pthread_t a;
    pthread_mutex_lock(&held);
    pthread_rwlock_wrlock(&rw);
    pthread_create(&a, 0, waiter, 0);
    pthread_join(a, 0);
    return 0;
}
