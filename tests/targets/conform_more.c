/* Conformance: the standard on mutexes with a ceiling, on the mutex after a condition wait, on
 * read-write locks that are read often, on reused barriers, and on calls interrupted by a handler. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

static pthread_mutex_t m;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw;
static pthread_barrier_t barrier;
static sem_t begun, never;
static int depth, serial, ends[2], handled;
static const struct timespec past = { 1, 0 };

static long or_errno(long answer)
{
    return answer == -1 ? -errno : answer;
}

static void handle(int signal)
{
    handled = signal;
}

static pthread_mutexattr_t of(int type, int robust)
{
    pthread_mutexattr_t a;
    CHECK(0, pthread_mutexattr_init(&a));
    CHECK(0, pthread_mutexattr_settype(&a, type));
    CHECK(0, pthread_mutexattr_setrobust(&a, robust));
    return a;
}

static void *try_it(void *unused)
{
    (void)unused;
    int got = pthread_mutex_trylock(&m);
    if (got == 0)
        pthread_mutex_unlock(&m);
    return (void *)(long)got;
}

/* A wait unlocks a recursive mutex only once, so it must be locked once (POSIX leaves other cases undefined). */
static void waits(void)
{
    static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK };
    for (int i = 0; i < 3; i++) {
        pthread_mutexattr_t a = of(types[i], PTHREAD_MUTEX_STALLED);
        CHECK(0, pthread_mutex_init(&m, &a));
        CHECK(0, pthread_mutex_lock(&m));
        CHECK(ETIMEDOUT, pthread_cond_timedwait(&c, &m, &past));
        CHECK(EBUSY, run_in_thread(try_it, NULL));
        CHECK(0, pthread_mutex_unlock(&m));
        CHECK(0, run_in_thread(try_it, NULL));
        CHECK(0, pthread_mutex_destroy(&m));
        CHECK(0, pthread_mutexattr_destroy(&a));
    }
}

static void *end_with_it(void *unused)
{
    CHECK(0, pthread_mutex_lock(&m));
    return unused;
}

static void *take_and_wait(void *unused)
{
    CHECK(0, pthread_mutex_lock(&m));
    sem_post(&begun);
    sem_wait(&never);
    return unused;
}

static void *inherit_it(void *unused)
{
    int got = pthread_mutex_lock(&m);
    CHECK(EOWNERDEAD, got);
    CHECK(0, pthread_mutex_consistent(&m));
    CHECK(0, pthread_mutex_unlock(&m));
    return unused;
}

/* A task that waits for a robust mutex gets EOWNERDEAD when its owner ends, by returning or by cancellation. */
static void owners(void)
{
    pthread_mutexattr_t a = of(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    pthread_t owner, next;
    CHECK(0, pthread_mutex_init(&m, &a));
    CHECK(0, pthread_create(&owner, NULL, take_and_wait, NULL));
    sem_wait(&begun);
    CHECK(0, pthread_create(&next, NULL, inherit_it, NULL));
    CHECK(0, pthread_cancel(owner));
    CHECK(0, pthread_join(owner, NULL));
    CHECK(0, pthread_join(next, NULL));
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_unlock(&m));
    /* Locked again by a wait that ends. */
    run_in_thread(end_with_it, NULL);
    CHECK(EOWNERDEAD, pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &past));
    CHECK(0, pthread_mutex_consistent(&m));
    CHECK(ETIMEDOUT, pthread_cond_timedwait(&c, &m, &past));
    CHECK(0, pthread_mutex_unlock(&m));
    /* Left inconsistent: it may be destroyed and initialised again. */
    run_in_thread(end_with_it, NULL);
    CHECK(EOWNERDEAD, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(ENOTRECOVERABLE, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_destroy(&m));
    CHECK(0, pthread_mutex_init(&m, &a));
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, pthread_mutex_destroy(&m));
    CHECK(0, pthread_mutexattr_destroy(&a));
}

static void *read_deep(void *levels)
{
    for (long i = 0; i < (long)levels; i++)
        CHECK(0, pthread_rwlock_rdlock(&rw));
    CHECK(EBUSY, pthread_rwlock_trywrlock(&rw));
    for (long i = 0; i < (long)levels; i++)
        CHECK(0, pthread_rwlock_unlock(&rw));
    return NULL;
}

static void *write_it(void *unused)
{
    CHECK(0, pthread_rwlock_wrlock(&rw));
    depth++;
    CHECK(0, pthread_rwlock_unlock(&rw));
    return unused;
}

static void readers(void)
{
    pthread_t writer;
    pthread_rwlockattr_t a;
    int got = -1;
    CHECK(0, pthread_rwlockattr_init(&a));
    CHECK(0, pthread_rwlockattr_getpshared(&a, &got));
    CHECK(PTHREAD_PROCESS_PRIVATE, got);
    CHECK(0, pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    CHECK(0, pthread_rwlock_init(&rw, &a));
    run_in_thread(read_deep, (void *)20);
    /* With PREFER_READER (the default), readers may read again while a writer waits. */
    CHECK(0, pthread_rwlock_rdlock(&rw));
    CHECK(0, pthread_create(&writer, NULL, write_it, NULL));
    run_in_thread(read_deep, (void *)2);
    CHECK(0, depth);
    CHECK(0, pthread_rwlock_unlock(&rw));
    CHECK(0, pthread_join(writer, NULL));
    CHECK(1, depth);
    CHECK(0, pthread_rwlock_destroy(&rw));
    CHECK(0, pthread_rwlockattr_destroy(&a));
}

static void *meet(void *unused)
{
    for (int i = 0; i < 3; i++) {
        int got = pthread_barrier_wait(&barrier);
        CHECK(1, got == 0 || got == PTHREAD_BARRIER_SERIAL_THREAD);
        if (got == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_fetch_add(&serial, 1, __ATOMIC_SEQ_CST);
    }
    return unused;
}

static void barriers(void)
{
    pthread_barrierattr_t a;
    pthread_t other;
    int got = -1;
    CHECK(0, pthread_barrierattr_init(&a));
    CHECK(0, pthread_barrierattr_getpshared(&a, &got));
    CHECK(PTHREAD_PROCESS_PRIVATE, got);
    CHECK(EINVAL, pthread_barrierattr_setpshared(&a, 77));
    CHECK(0, pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    CHECK(EINVAL, pthread_barrier_init(&barrier, &a, 0));
    CHECK(0, pthread_barrier_init(&barrier, &a, 2));
    /* Exactly one thread of each round gets PTHREAD_BARRIER_SERIAL_THREAD. */
    CHECK(0, pthread_create(&other, NULL, meet, NULL));
    meet(NULL);
    CHECK(0, pthread_join(other, NULL));
    CHECK(3, serial);
    CHECK(0, pthread_barrier_destroy(&barrier));
    CHECK(0, pthread_barrier_init(&barrier, NULL, 1));
    CHECK(PTHREAD_BARRIER_SERIAL_THREAD, pthread_barrier_wait(&barrier));
    CHECK(0, pthread_barrier_destroy(&barrier));
    CHECK(0, pthread_barrierattr_destroy(&a));
}

/* An interrupted call returns EINTR, or continues, depending on the action's SA_RESTART. */
static void *reads(void *unused)
{
    char byte;
    sem_post(&begun);
    long got = or_errno(read(ends[0], &byte, 1));
    (void)unused;
    return (void *)got;
}

static void interruption(int flags)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = flags };
    pthread_t reader;
    void *got;
    CHECK(0, sigaction(SIGUSR1, &action, NULL));
    handled = 0;
    CHECK(0, pthread_create(&reader, NULL, reads, NULL));
    sem_wait(&begun);
    CHECK(0, pthread_kill(reader, SIGUSR1));
    while (!*(volatile int *)&handled)
        usleep(1);
    if (flags) {
        CHECK(1, write(ends[1], "x", 1));
        CHECK(0, pthread_join(reader, &got));
        CHECK(1, (long)got);
        return;
    }
    /* The signal may have arrived before the read began. */
    while (pthread_tryjoin_np(reader, &got) != 0) {
        CHECK(0, pthread_kill(reader, SIGUSR1));
        usleep(1);
    }
    CHECK(-EINTR, (long)got);
}

int main(void)
{
    sem_init(&begun, 0, 0);
    sem_init(&never, 0, 0);
    CHECK(0, pipe(ends));
    waits();
    owners();
    readers();
    barriers();
    interruption(SA_RESTART);
    interruption(0);
    return conforms();
}
