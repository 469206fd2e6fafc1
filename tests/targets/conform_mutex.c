/* Conformance: the standard and the manual pages on mutexes: one line for each
 * sentence that can be tested and does not leave the behaviour undefined. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "conform.h"

static pthread_mutex_t m;
static const struct timespec bad = { 0, 1000000000 }, past = { 1, 0 };

static void *try_it(void *unused)
{
    (void)unused;
    int error = pthread_mutex_trylock(&m);
    if (error == 0)
        pthread_mutex_unlock(&m);
    return (void *)(long)error;
}

static void *time_out(void *unused)
{
    (void)unused;
    struct timespec real = in_ms(CLOCK_REALTIME, 5), mono = in_ms(CLOCK_MONOTONIC, 5);
    CHECK(ETIMEDOUT, pthread_mutex_timedlock(&m, &real));
    CHECK(ETIMEDOUT, pthread_mutex_timedlock(&m, &past));
    CHECK(EINVAL, pthread_mutex_timedlock(&m, &bad));
    CHECK(ETIMEDOUT, pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &mono));
    CHECK(ETIMEDOUT, pthread_mutex_clocklock(&m, CLOCK_REALTIME, &past));
    CHECK(EINVAL, pthread_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &past));
    return NULL;
}

static void *unlock_it(void *unused)
{
    (void)unused;
    return (void *)(long)pthread_mutex_unlock(&m);
}

static void *lock_and_end(void *unused)
{
    (void)unused;
    return (void *)(long)pthread_mutex_lock(&m);
}

static void make(int type, int robust, int protocol)
{
    pthread_mutexattr_t a;
    int got = -1;
    CHECK(0, pthread_mutexattr_init(&a));
    CHECK(0, pthread_mutexattr_settype(&a, type));
    CHECK(0, pthread_mutexattr_gettype(&a, &got));
    CHECK(type, got);
    CHECK(0, pthread_mutexattr_setrobust(&a, robust));
    CHECK(0, pthread_mutexattr_getrobust(&a, &got));
    CHECK(robust, got);
    CHECK(0, pthread_mutexattr_setprotocol(&a, protocol));
    CHECK(0, pthread_mutexattr_getprotocol(&a, &got));
    CHECK(protocol, got);
    CHECK(0, pthread_mutex_init(&m, &a));
    CHECK(0, pthread_mutexattr_destroy(&a));
}

/* Checks common to all kinds. */
static void any(void)
{
    CHECK(0, pthread_mutex_trylock(&m));
    CHECK(EBUSY, run_in_thread(try_it, NULL));
    run_in_thread(time_out, NULL);
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, run_in_thread(try_it, NULL));
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_unlock(&m));
    /* The timeout is not checked if the mutex is free. */
    CHECK(0, pthread_mutex_timedlock(&m, &past));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &past));
    CHECK(0, pthread_mutex_unlock(&m));
}

static void error_checking(void)
{
    CHECK(EPERM, pthread_mutex_unlock(&m));
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(EDEADLK, pthread_mutex_lock(&m));
    CHECK(EDEADLK, pthread_mutex_timedlock(&m, &past));
    CHECK(EBUSY, pthread_mutex_trylock(&m));
    CHECK(EPERM, run_in_thread(unlock_it, NULL));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(EPERM, pthread_mutex_unlock(&m));
}

static void recursive(void)
{
    CHECK(EPERM, pthread_mutex_unlock(&m));
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_trylock(&m));
    CHECK(0, pthread_mutex_timedlock(&m, &past));
    CHECK(EPERM, run_in_thread(unlock_it, NULL));
    for (int i = 0; i < 3; i++) {
        CHECK(0, pthread_mutex_unlock(&m));
        CHECK(EBUSY, run_in_thread(try_it, NULL));
    }
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, run_in_thread(try_it, NULL));
}

static void robust(int type)
{
    make(type, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    any();
    CHECK(EPERM, pthread_mutex_unlock(&m));
    CHECK(EINVAL, pthread_mutex_consistent(&m));
    /* The owner ends: the next owner gets EOWNERDEAD, and makes it consistent. */
    CHECK(0, run_in_thread(lock_and_end, NULL));
    CHECK(EOWNERDEAD, pthread_mutex_lock(&m));
    CHECK(EBUSY, run_in_thread(try_it, NULL));
    CHECK(0, pthread_mutex_consistent(&m));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, run_in_thread(lock_and_end, NULL));
    CHECK(EOWNERDEAD, pthread_mutex_trylock(&m));
    CHECK(0, pthread_mutex_consistent(&m));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, run_in_thread(lock_and_end, NULL));
    CHECK(EOWNERDEAD, pthread_mutex_timedlock(&m, &past));
    /* Not made consistent: unusable from here on. */
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(ENOTRECOVERABLE, pthread_mutex_lock(&m));
    CHECK(ENOTRECOVERABLE, pthread_mutex_timedlock(&m, &past));
    CHECK(ENOTRECOVERABLE, pthread_mutex_trylock(&m));
    CHECK(0, pthread_mutex_destroy(&m));
}

static void attributes(void)
{
    pthread_mutexattr_t a;
    int got = -1;
    CHECK(0, pthread_mutexattr_init(&a));
    CHECK(0, pthread_mutexattr_gettype(&a, &got));
    CHECK(PTHREAD_MUTEX_DEFAULT, got);
    CHECK(0, pthread_mutexattr_getpshared(&a, &got));
    CHECK(PTHREAD_PROCESS_PRIVATE, got);
    CHECK(0, pthread_mutexattr_getrobust(&a, &got));
    CHECK(PTHREAD_MUTEX_STALLED, got);
    CHECK(0, pthread_mutexattr_getprotocol(&a, &got));
    CHECK(PTHREAD_PRIO_NONE, got);
    CHECK(EINVAL, pthread_mutexattr_settype(&a, 77));
    CHECK(EINVAL, pthread_mutexattr_setpshared(&a, 77));
    CHECK(EINVAL, pthread_mutexattr_setrobust(&a, 77));
    CHECK(EINVAL, pthread_mutexattr_setprotocol(&a, 77));
    CHECK(EINVAL, pthread_mutexattr_setprioceiling(&a, 1000));
    CHECK(0, pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    CHECK(0, pthread_mutex_init(&m, &a));
    any();
    CHECK(EINVAL, pthread_mutex_consistent(&m));
    CHECK(EINVAL, pthread_mutex_getprioceiling(&m, &got));
    CHECK(EINVAL, pthread_mutex_setprioceiling(&m, 5, &got));
    CHECK(0, pthread_mutex_destroy(&m));
    CHECK(0, pthread_mutexattr_destroy(&a));
}

int main(void)
{
    static pthread_mutex_t initialised[] = {
        PTHREAD_MUTEX_INITIALIZER,
        PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
        PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
        PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
    };
    for (int i = 0; i < 4; i++) {
        CHECK(0, pthread_mutex_lock(&initialised[i]));
        CHECK(i == 1 ? 0 : EBUSY, pthread_mutex_trylock(&initialised[i]));
        CHECK(0, pthread_mutex_unlock(&initialised[i]));
    }
    static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                                 PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };
    for (int i = 0; i < 4; i++) {
        make(types[i], PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
        any();
        if (types[i] == PTHREAD_MUTEX_ERRORCHECK)
            error_checking();
        if (types[i] == PTHREAD_MUTEX_RECURSIVE)
            recursive();
        CHECK(0, pthread_mutex_destroy(&m));
        if (types[i] != PTHREAD_MUTEX_ADAPTIVE_NP) {
            robust(types[i]);
            make(types[i], PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
            CHECK(0, pthread_mutex_lock(&m));
            CHECK(EBUSY, run_in_thread(try_it, NULL));
            CHECK(0, pthread_mutex_unlock(&m));
            CHECK(0, pthread_mutex_destroy(&m));
        }
    }
    attributes();
    return conforms();
}
