/* Conformance: the standard and the manual pages on barriers, spin locks and semaphores. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

static const struct timespec bad = { 0, 1000000000 }, past = { 1, 0 };
static pthread_barrier_t b;
static int serial;

static void *meet(void *rounds)
{
    for (long i = 0; i < (long)rounds; i++) {
        int got = pthread_barrier_wait(&b);
        if (got == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_fetch_add(&serial, 1, __ATOMIC_SEQ_CST);
        else
            CHECK(0, got);
    }
    return NULL;
}

static void barriers(void)
{
    pthread_barrierattr_t a;
    pthread_t other[2];
    int got = -1;
    CHECK(EINVAL, pthread_barrier_init(&b, NULL, 0));
    CHECK(0, pthread_barrierattr_init(&a));
    CHECK(0, pthread_barrierattr_getpshared(&a, &got));
    CHECK(PTHREAD_PROCESS_PRIVATE, got);
    CHECK(0, pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    CHECK(EINVAL, pthread_barrierattr_setpshared(&a, 77));
    CHECK(0, pthread_barrier_init(&b, &a, 1));
    CHECK(PTHREAD_BARRIER_SERIAL_THREAD, pthread_barrier_wait(&b));
    CHECK(PTHREAD_BARRIER_SERIAL_THREAD, pthread_barrier_wait(&b));
    CHECK(0, pthread_barrier_destroy(&b));
    CHECK(0, pthread_barrier_init(&b, NULL, 3));
    for (int i = 0; i < 2; i++)
        CHECK(0, pthread_create(&other[i], NULL, meet, (void *)4));
    meet((void *)4);
    for (int i = 0; i < 2; i++)
        CHECK(0, pthread_join(other[i], NULL));
    CHECK(4, serial);
    CHECK(0, pthread_barrier_destroy(&b));
    CHECK(0, pthread_barrierattr_destroy(&a));
}

static pthread_spinlock_t spin;

static void *try_spin(void *unused)
{
    (void)unused;
    return (void *)(long)pthread_spin_trylock(&spin);
}

static void spin_locks(void)
{
    for (int shared = 0; shared < 2; shared++) {
        CHECK(0, pthread_spin_init(&spin, shared));
        CHECK(0, pthread_spin_lock(&spin));
        CHECK(EBUSY, pthread_spin_trylock(&spin));
        CHECK(EBUSY, run_in_thread(try_spin, NULL));
        CHECK(0, pthread_spin_unlock(&spin));
        CHECK(0, pthread_spin_trylock(&spin));
        CHECK(0, pthread_spin_unlock(&spin));
        CHECK(0, pthread_spin_destroy(&spin));
    }
}

static int value(sem_t *s)
{
    int value = -1;
    CHECK(0, sem_getvalue(s, &value));
    return value;
}

/* The result; the negative errno if it is -1. */
static int or_errno(int answer)
{
    return answer == -1 ? -errno : answer;
}

static void use(sem_t *s)
{
    struct timespec real = in_ms(CLOCK_REALTIME, 3), mono = in_ms(CLOCK_MONOTONIC, 3);
    CHECK(2, value(s));
    CHECK(0, sem_wait(s));
    CHECK(1, value(s));
    CHECK(0, sem_trywait(s));
    CHECK(0, value(s));
    CHECK(-EAGAIN, or_errno(sem_trywait(s)));
    CHECK(-ETIMEDOUT, or_errno(sem_timedwait(s, &real)));
    CHECK(-ETIMEDOUT, or_errno(sem_timedwait(s, &past)));
    CHECK(-ETIMEDOUT, or_errno(sem_clockwait(s, CLOCK_MONOTONIC, &mono)));
    CHECK(-EINVAL, or_errno(sem_timedwait(s, &bad)));
    CHECK(-EINVAL, or_errno(sem_clockwait(s, CLOCK_PROCESS_CPUTIME_ID, &past)));
    CHECK(0, value(s));
    CHECK(0, sem_post(s));
    CHECK(0, sem_timedwait(s, &past));
    CHECK(0, sem_post(s));
    CHECK(0, sem_clockwait(s, CLOCK_REALTIME, &past));
    CHECK(0, sem_post(s));
    CHECK(0, sem_post(s));
    CHECK(2, value(s));
}

static sem_t s;

static void semaphores(void)
{
    CHECK(-EINVAL, or_errno(sem_init(&s, 0, (unsigned)SEM_VALUE_MAX + 1)));
    CHECK(0, sem_init(&s, 0, SEM_VALUE_MAX));
    CHECK(-EOVERFLOW, or_errno(sem_post(&s)));
    CHECK(SEM_VALUE_MAX, value(&s));
    CHECK(0, sem_destroy(&s));
    for (int shared = 0; shared < 2; shared++) {
        CHECK(0, sem_init(&s, shared, 2));
        use(&s);
        CHECK(0, sem_destroy(&s));
    }
}

static void named(void)
{
    char name[64], longer[300];
    snprintf(name, sizeof name, "/heddle-conform-%d", (int)getpid());
    memset(longer, 'x', sizeof longer - 1);
    longer[0] = '/';
    longer[sizeof longer - 1] = 0;
    CHECK(1, sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
    CHECK(1, sem_open("/", O_CREAT, 0600, 1) == SEM_FAILED && errno == EINVAL);
    CHECK(1, sem_open(longer, O_CREAT, 0600, 1) == SEM_FAILED && (errno == ENAMETOOLONG || errno == EINVAL));
    CHECK(1, sem_open(name, O_CREAT, 0600, (unsigned)SEM_VALUE_MAX + 1) == SEM_FAILED
              && errno == EINVAL);
    sem_t *one = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
    CHECK(1, one != SEM_FAILED);
    use(one);
    CHECK(1, sem_open(name, O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED && errno == EEXIST);
    sem_t *same = sem_open(name, O_CREAT, 0600, 7);
    CHECK(1, same == one);
    CHECK(2, value(same));
    CHECK(0, sem_close(same));
    CHECK(2, value(one));
    CHECK(0, sem_unlink(name));
    CHECK(-ENOENT, or_errno(sem_unlink(name)));
    /* The semaphore exists until it is closed; its name can be used again. */
    use(one);
    sem_t *fresh = sem_open(name, O_CREAT, 0600, 5);
    CHECK(5, value(fresh));
    CHECK(0, sem_close(one));
    CHECK(5, value(fresh));
    CHECK(0, sem_unlink(name));
    CHECK(0, sem_close(fresh));
    CHECK(-EINVAL, or_errno(sem_close(&s)));
}

int main(void)
{
    barriers();
    spin_locks();
    semaphores();
    named();
    return conforms();
}
