/* Conformance: the standard and the manual pages on read-write locks. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "conform.h"

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static const struct timespec bad = { 0, 1000000000 }, past = { 1, 0 };

/* The operations that succeed for another thread while this one has a read lock (or, with an argument, a write lock). */
static void *beside(void *written)
{
    struct timespec real = in_ms(CLOCK_REALTIME, 3), mono = in_ms(CLOCK_MONOTONIC, 3);
    CHECK(EBUSY, pthread_rwlock_trywrlock(&l));
    CHECK(ETIMEDOUT, pthread_rwlock_timedwrlock(&l, &real));
    CHECK(ETIMEDOUT, pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &mono));
    CHECK(ETIMEDOUT, pthread_rwlock_timedwrlock(&l, &past));
    CHECK(EINVAL, pthread_rwlock_timedwrlock(&l, &bad));
    CHECK(EINVAL, pthread_rwlock_clockwrlock(&l, CLOCK_PROCESS_CPUTIME_ID, &past));
    if (written) {
        CHECK(EBUSY, pthread_rwlock_tryrdlock(&l));
        CHECK(ETIMEDOUT, pthread_rwlock_timedrdlock(&l, &past));
        CHECK(ETIMEDOUT, pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &past));
        CHECK(EINVAL, pthread_rwlock_timedrdlock(&l, &bad));
        return NULL;
    }
    CHECK(0, pthread_rwlock_rdlock(&l));
    CHECK(0, pthread_rwlock_tryrdlock(&l));
    CHECK(0, pthread_rwlock_timedrdlock(&l, &past));
    CHECK(0, pthread_rwlock_clockrdlock(&l, CLOCK_REALTIME, &past));
    for (int i = 0; i < 4; i++)
        CHECK(0, pthread_rwlock_unlock(&l));
    return NULL;
}

static void all(void)
{
    int here;
    CHECK(0, pthread_rwlock_rdlock(&l));
    CHECK(0, pthread_rwlock_rdlock(&l));
    CHECK(EBUSY, pthread_rwlock_trywrlock(&l));
    run_in_thread(beside, NULL);
    CHECK(0, pthread_rwlock_unlock(&l));
    run_in_thread(beside, NULL);
    CHECK(0, pthread_rwlock_unlock(&l));
    CHECK(0, pthread_rwlock_wrlock(&l));
    CHECK(EDEADLK, pthread_rwlock_rdlock(&l));
    CHECK(EDEADLK, pthread_rwlock_wrlock(&l));
    CHECK(EDEADLK, pthread_rwlock_timedrdlock(&l, &past));
    CHECK(EDEADLK, pthread_rwlock_timedwrlock(&l, &past));
    CHECK(EBUSY, pthread_rwlock_tryrdlock(&l));
    CHECK(EBUSY, pthread_rwlock_trywrlock(&l));
    run_in_thread(beside, &here);
    CHECK(0, pthread_rwlock_unlock(&l));
    CHECK(0, pthread_rwlock_trywrlock(&l));
    CHECK(0, pthread_rwlock_unlock(&l));
    CHECK(0, pthread_rwlock_tryrdlock(&l));
    CHECK(0, pthread_rwlock_unlock(&l));
    CHECK(0, pthread_rwlock_timedwrlock(&l, &past));
    CHECK(0, pthread_rwlock_unlock(&l));
    CHECK(0, pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &past));
    CHECK(0, pthread_rwlock_unlock(&l));
}

int main(void)
{
    pthread_rwlockattr_t a;
    int got = -1;
    all();
    CHECK(0, pthread_rwlock_destroy(&l));
    CHECK(0, pthread_rwlockattr_init(&a));
    CHECK(0, pthread_rwlockattr_getkind_np(&a, &got));
    CHECK(PTHREAD_RWLOCK_DEFAULT_NP, got);
    CHECK(EINVAL, pthread_rwlockattr_setkind_np(&a, 77));
    CHECK(EINVAL, pthread_rwlockattr_setpshared(&a, 77));
    static const int kinds[] = { PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                                 PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };
    for (int i = 0; i < 3; i++) {
        CHECK(0, pthread_rwlockattr_setkind_np(&a, kinds[i]));
        CHECK(0, pthread_rwlockattr_setpshared(&a, i % 2));
        CHECK(0, pthread_rwlockattr_getpshared(&a, &got));
        CHECK(i % 2, got);
        CHECK(0, pthread_rwlock_init(&l, &a));
        all();
        CHECK(0, pthread_rwlock_destroy(&l));
    }
    CHECK(0, pthread_rwlockattr_destroy(&a));
    return conforms();
}
