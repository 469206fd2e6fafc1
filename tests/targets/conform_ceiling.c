/* Conformance: the standard on mutexes with a priority ceiling and on
 * priorities, if the system grants any; and on functions with alternative names. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "conform.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static const struct timespec past = { 1, 0 };
static pthread_mutex_t m, inner;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void make(pthread_mutex_t *mutex, int type, int ceiling)
{
    pthread_mutexattr_t a;
    int got = -1;
    CHECK(0, pthread_mutexattr_init(&a));
    CHECK(0, pthread_mutexattr_settype(&a, type));
    CHECK(0, pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
    CHECK(0, pthread_mutexattr_getprioceiling(&a, &got));
    CHECK(sched_get_priority_min(SCHED_FIFO), got);
    CHECK(EINVAL, pthread_mutexattr_setprioceiling(&a, sched_get_priority_min(SCHED_FIFO) - 1));
    CHECK(EINVAL, pthread_mutexattr_setprioceiling(&a, sched_get_priority_max(SCHED_FIFO) + 1));
    CHECK(0, pthread_mutexattr_setprioceiling(&a, ceiling));
    CHECK(0, pthread_mutexattr_getprioceiling(&a, &got));
    CHECK(ceiling, got);
    CHECK(0, pthread_mutex_init(mutex, &a));
    CHECK(0, pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    CHECK(ENOTSUP, pthread_mutex_init(&inner, &a));
    CHECK(0, pthread_mutexattr_destroy(&a));
}

static int ceiling_of(pthread_mutex_t *mutex)
{
    int ceiling = -1;
    CHECK(0, pthread_mutex_getprioceiling(mutex, &ceiling));
    return ceiling;
}

/* A thread whose policy has no priorities cannot be raised. */
static void *locks(void *unused)
{
    CHECK(EINVAL, pthread_mutex_lock(&m));
    return unused;
}

static void *tries(void *unused)
{
    CHECK(EINVAL, pthread_mutex_trylock(&m));
    return unused;
}

static void *waits(void *unused)
{
    CHECK(EINVAL, pthread_mutex_timedlock(&m, &past));
    return unused;
}

/* `pthread_mutex_setprioceiling` locks the mutex without regard to the ceiling. */
static void *sets(void *unused)
{
    int before = -1;
    CHECK(0, pthread_mutex_setprioceiling(&m, 12, &before));
    CHECK(10, before);
    CHECK(0, pthread_mutex_setprioceiling(&m, 10, &before));
    CHECK(EINVAL, pthread_mutex_setprioceiling(&m, 0, &before));
    CHECK(EINVAL, pthread_mutex_setprioceiling(&m, 100, &before));
    CHECK(10, ceiling_of(&m));
    return unused;
}

static void *is_taken(void *unused)
{
    CHECK(EBUSY, pthread_mutex_trylock(&m));
    CHECK(ETIMEDOUT, pthread_mutex_timedlock(&m, &past));
    return unused;
}

static int now_has(int policy, int priority)
{
    struct sched_param p = { .sched_priority = priority };
    return pthread_setschedparam(pthread_self(), policy, &p);
}

static void raised(int type)
{
    make(&m, type, 10);
    make(&inner, type, 20);
    CHECK(0, now_has(SCHED_FIFO, 11));
    CHECK(EINVAL, pthread_mutex_lock(&m));
    CHECK(EINVAL, pthread_mutex_trylock(&m));
    CHECK(EINVAL, pthread_mutex_timedlock(&m, &past));
    CHECK(0, now_has(SCHED_RR, 10));
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_lock(&inner));
    run_in_thread(is_taken, NULL);
    CHECK(type == PTHREAD_MUTEX_RECURSIVE ? 0 : type == PTHREAD_MUTEX_ERRORCHECK ? EDEADLK : EBUSY,
          pthread_mutex_trylock(&m));
    if (type == PTHREAD_MUTEX_RECURSIVE)
        CHECK(0, pthread_mutex_unlock(&m));
    if (type == PTHREAD_MUTEX_ERRORCHECK) {
        int before = -1;
        CHECK(EDEADLK, pthread_mutex_lock(&m));
        CHECK(EDEADLK, pthread_mutex_setprioceiling(&m, 30, &before));
    }
    CHECK(ETIMEDOUT, pthread_cond_timedwait(&c, &inner, &past));
    CHECK(0, pthread_mutex_unlock(&inner));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, pthread_mutex_trylock(&m));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, pthread_mutex_timedlock(&m, &past));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, now_has(SCHED_OTHER, 0));
    CHECK(0, pthread_mutex_destroy(&inner));
    CHECK(0, pthread_mutex_destroy(&m));
}

static void nothing(void)
{
}

static void other_names(void)
{
    pthread_mutexattr_t a;
    pthread_attr_t threads;
    int got = -1;
    void *stack = malloc(1 << 16), *is = NULL;
    CHECK(0, pthread_mutexattr_init(&a));
    CHECK(0, pthread_mutexattr_setrobust_np(&a, PTHREAD_MUTEX_ROBUST_NP));
    CHECK(0, pthread_mutexattr_getrobust_np(&a, &got));
    CHECK(PTHREAD_MUTEX_ROBUST_NP, got);
    CHECK(0, pthread_mutex_init(&m, &a));
    CHECK(EINVAL, pthread_mutex_consistent_np(&m));
    CHECK(0, pthread_mutex_destroy(&m));
    CHECK(0, pthread_attr_init(&threads));
    CHECK(0, pthread_attr_setstackaddr(&threads, stack));
    CHECK(0, pthread_attr_getstackaddr(&threads, &is));
    CHECK(1, is == stack);
    CHECK(0, pthread_attr_destroy(&threads));
    CHECK(0, pthread_yield());
    CHECK(0, pthread_atfork(nothing, nothing, nothing));
    free(stack);
}

int main(void)
{
    static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };
    for (int i = 0; i < 3; i++) {
        make(&m, types[i], 10);
        run_in_thread(locks, NULL);
        run_in_thread(tries, NULL);
        run_in_thread(waits, NULL);
        run_in_thread(sets, NULL);
        CHECK(0, pthread_mutex_destroy(&m));
    }
    /* A thread without the privilege is refused a priority. */
    if (now_has(SCHED_FIFO, 11) == 0)
        for (int i = 0; i < 3; i++)
            raised(types[i]);
    other_names();
    return conforms();
}
