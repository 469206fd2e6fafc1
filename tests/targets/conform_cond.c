/* Conformance: the standard and the manual pages on condition variables. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "conform.h"

static pthread_mutex_t m;
static pthread_cond_t c;
static const struct timespec bad = { 0, -1 }, past = { 1, 0 };
static int ready;

static void *signal_it(void *all)
{
    CHECK(0, pthread_mutex_lock(&m));
    ready = 1;
    CHECK(0, all ? pthread_cond_broadcast(&c) : pthread_cond_signal(&c));
    CHECK(0, pthread_mutex_unlock(&m));
    return NULL;
}

static void *try_m(void *unused)
{
    (void)unused;
    return (void *)(long)pthread_mutex_trylock(&m);
}

/* Waits until it is signalled, by each kind of wait. */
static void signalled(int way)
{
    struct timespec real = in_ms(CLOCK_REALTIME, 100000), mono = in_ms(CLOCK_MONOTONIC, 100000);
    pthread_t thread;
    ready = 0;
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(0, pthread_create(&thread, NULL, signal_it, way % 2 ? &way : NULL));
    while (!ready) {
        int error = way < 2 ? pthread_cond_wait(&c, &m)
                  : way < 4 ? pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &mono)
                            : pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &real);
        if (error == ETIMEDOUT)
            break; /* a search may let any time limit expire */
        CHECK(0, error);
    }
    CHECK(EBUSY, run_in_thread(try_m, NULL));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, pthread_join(thread, NULL));
}

static void not_signalled(clockid_t clock)
{
    struct timespec soon = in_ms(clock, 3);
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(ETIMEDOUT, pthread_cond_timedwait(&c, &m, &soon));
    CHECK(ETIMEDOUT, pthread_cond_timedwait(&c, &m, &past));
    CHECK(ETIMEDOUT, pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &past));
    CHECK(EINVAL, pthread_cond_timedwait(&c, &m, &bad));
    CHECK(EINVAL, pthread_cond_clockwait(&c, &m, CLOCK_PROCESS_CPUTIME_ID, &past));
    /* Each kind of wait returns with the mutex held. */
    CHECK(EBUSY, run_in_thread(try_m, NULL));
    CHECK(0, pthread_mutex_unlock(&m));
}

static void error_checking(void)
{
    pthread_mutexattr_t a;
    CHECK(0, pthread_mutex_destroy(&m));
    CHECK(0, pthread_mutexattr_init(&a));
    CHECK(0, pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK));
    CHECK(0, pthread_mutex_init(&m, &a));
    CHECK(EPERM, pthread_cond_wait(&c, &m));
    CHECK(EPERM, pthread_cond_timedwait(&c, &m, &past));
    signalled(0);
    CHECK(0, pthread_mutex_destroy(&m));
    CHECK(0, pthread_mutexattr_destroy(&a));
}

int main(void)
{
    pthread_condattr_t a;
    clockid_t clock = -1;
    int shared = -1;
    CHECK(0, pthread_mutex_init(&m, NULL));
    CHECK(0, pthread_condattr_init(&a));
    CHECK(0, pthread_condattr_getclock(&a, &clock));
    CHECK(CLOCK_REALTIME, clock);
    CHECK(EINVAL, pthread_condattr_setclock(&a, CLOCK_PROCESS_CPUTIME_ID));
    CHECK(0, pthread_condattr_getpshared(&a, &shared));
    CHECK(PTHREAD_PROCESS_PRIVATE, shared);
    CHECK(EINVAL, pthread_condattr_setpshared(&a, 77));
    for (int i = 0; i < 4; i++) {
        clock = i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        CHECK(0, pthread_condattr_setclock(&a, clock));
        CHECK(0, pthread_condattr_setpshared(&a, i / 2));
        CHECK(0, pthread_cond_init(&c, &a));
        /* No task waits, so neither signal has an effect later. */
        CHECK(0, pthread_cond_signal(&c));
        CHECK(0, pthread_cond_broadcast(&c));
        not_signalled(clock);
        for (int way = 0; way < 6; way++)
            signalled(way);
        CHECK(0, pthread_cond_destroy(&c));
    }
    CHECK(0, pthread_cond_init(&c, NULL));
    error_checking();
    CHECK(0, pthread_cond_destroy(&c));
    CHECK(0, pthread_condattr_destroy(&a));
    return conforms();
}
