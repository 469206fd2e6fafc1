/* Conformance: the C standard on threads (7.26), and POSIX on keys and pthread_once. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#include "conform.h"

static const struct timespec past = { 1, 0 };
static mtx_t m;
static cnd_t c;
static int ready, woken, calls, destroyed;
static thrd_t self;
static tss_t slot;

static int give(void *value)
{
    self = thrd_current();
    return (int)(intptr_t)value;
}

static int in_thread(thrd_start_t work, void *argument)
{
    thrd_t thread;
    int got = -99;
    CHECK(thrd_success, thrd_create(&thread, work, argument));
    CHECK(thrd_success, thrd_join(thread, &got));
    return got;
}

static int wait_ready(void *limit)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 100000000);
    CHECK(thrd_success, mtx_lock(&m));
    while (!ready) {
        int got = limit ? cnd_timedwait(&c, &m, &until) : cnd_wait(&c, &m);
        if (limit && got == thrd_timedout)
            break; /* a search may let any time limit expire */
        CHECK(thrd_success, got);
    }
    woken++;
    CHECK(thrd_busy, mtx_trylock(&m) == thrd_busy ? thrd_busy : thrd_error);
    CHECK(thrd_success, mtx_unlock(&m));
    return 0;
}

static void conditions(void)
{
    thrd_t waiter[2];
    CHECK(thrd_success, mtx_init(&m, mtx_plain));
    CHECK(thrd_success, cnd_init(&c));
    for (long limit = 0; limit < 2; limit++) {
        ready = woken = 0;
        for (int i = 0; i < 2; i++)
            CHECK(thrd_success, thrd_create(&waiter[i], wait_ready, (void *)limit));
        CHECK(thrd_success, mtx_lock(&m));
        ready = 1;
        CHECK(thrd_success, limit ? cnd_broadcast(&c) : cnd_signal(&c));
        CHECK(thrd_success, mtx_unlock(&m));
        CHECK(thrd_success, cnd_signal(&c));
        for (int i = 0; i < 2; i++)
            CHECK(thrd_success, thrd_join(waiter[i], NULL));
        CHECK(2, woken);
    }
    CHECK(thrd_success, mtx_lock(&m));
    CHECK(thrd_timedout, cnd_timedwait(&c, &m, &past));
    CHECK(thrd_success, mtx_unlock(&m));
    cnd_destroy(&c);
    mtx_destroy(&m);
}

static void once(void)
{
    calls++;
}

static once_flag flag = ONCE_FLAG_INIT;

static int do_once(void *unused)
{
    call_once(&flag, once);
    CHECK(1, calls);
    return unused != NULL;
}

static void destroy(void *value)
{
    destroyed++;
    CHECK(1, tss_get(slot) == NULL);
    if ((intptr_t)value > 1)
        CHECK(thrd_success, tss_set(slot, (void *)((intptr_t)value - 1)));
}

static int use_slot(void *value)
{
    CHECK(1, tss_get(slot) == NULL);
    CHECK(thrd_success, tss_set(slot, value));
    CHECK(1, tss_get(slot) == value);
    return 0;
}

static int deleted(void *value)
{
    CHECK(thrd_success, tss_set(slot, value));
    tss_delete(slot);
    return 0;
}

static void storage(void)
{
    CHECK(thrd_success, tss_create(&slot, destroy));
    in_thread(use_slot, NULL);
    CHECK(0, destroyed);
    in_thread(use_slot, (void *)2);
    CHECK(2, destroyed);
    in_thread(use_slot, (void *)1000);
    CHECK(2 + TSS_DTOR_ITERATIONS, destroyed);
    /* No destructor runs for a deleted key, now or later. */
    in_thread(deleted, (void *)1);
    CHECK(2 + TSS_DTOR_ITERATIONS, destroyed);
}

static sem_t over;

static int detached(void *unused)
{
    sem_post(&over);
    return unused != NULL;
}

static void threads(void)
{
    thrd_t thread;
    CHECK(INT_MIN, in_thread(give, (void *)(intptr_t)INT_MIN));
    CHECK(0, thrd_equal(self, thrd_current()));
    CHECK(1, !!thrd_equal(thrd_current(), thrd_current()));
    sem_init(&over, 0, 0);
    CHECK(thrd_success, thrd_create(&thread, detached, NULL));
    CHECK(thrd_success, thrd_detach(thread));
    sem_wait(&over);
    thrd_yield();
    CHECK(0, thrd_sleep(&(struct timespec){ 0, 1 }, NULL));
}

static pthread_key_t keys[PTHREAD_KEYS_MAX + 1], own;
static int seen, order;

static void when(void *value)
{
    CHECK(1, pthread_getspecific(own) == NULL);
    seen = (int)(intptr_t)value;
    order++;
}

static void *set_own(void *value)
{
    CHECK(0, pthread_setspecific(own, value));
    pthread_exit(NULL);
}

static void *new_is_null(void *unused)
{
    /* A key whose index was used before, by another thread or for another key. */
    CHECK(1, pthread_getspecific(own) == NULL);
    return unused;
}

static void all_keys(void)
{
    int made = 0, error;
    while (made <= PTHREAD_KEYS_MAX && (error = pthread_key_create(&keys[made], NULL)) == 0)
        made++;
    CHECK(EAGAIN, error);
    CHECK(1, made >= 128 && made <= PTHREAD_KEYS_MAX);
    for (int i = 0; i < made; i++) {
        CHECK(1, pthread_getspecific(keys[i]) == NULL);
        CHECK(0, pthread_setspecific(keys[i], &keys[i]));
    }
    for (int i = 0; i < made; i++)
        CHECK(1, pthread_getspecific(keys[i]) == &keys[i]);
    for (int i = 0; i < made; i++)
        CHECK(0, pthread_key_delete(keys[i]));
    CHECK(1, pthread_getspecific(PTHREAD_KEYS_MAX) == NULL);
    CHECK(EINVAL, pthread_setspecific(PTHREAD_KEYS_MAX, &own));
    CHECK(EINVAL, pthread_key_delete(PTHREAD_KEYS_MAX));
    /* The value is lost with the key, even if a key with the same index is created. */
    CHECK(0, pthread_key_create(&own, when));
    CHECK(1, pthread_getspecific(own) == NULL);
    run_in_thread(set_own, (void *)41);
    CHECK(41, seen);
    CHECK(1, order);
    run_in_thread(new_is_null, NULL);
    run_in_thread(set_own, NULL);
    CHECK(1, order);
    CHECK(0, pthread_key_delete(own));
}

static pthread_once_t outer = PTHREAD_ONCE_INIT, inner = PTHREAD_ONCE_INIT, given_up = PTHREAD_ONCE_INIT;
static int times[3];
static sem_t entered, never;

static void do_inner(void)
{
    times[1]++;
}

static void do_outer(void)
{
    times[0]++;
    CHECK(0, pthread_once(&inner, do_inner));
}

static void do_given_up(void)
{
    if (times[2]++ > 0)
        return;
    sem_post(&entered);
    sem_wait(&never);
}

static void *come_once(void *unused)
{
    CHECK(0, pthread_once(&given_up, do_given_up));
    return unused;
}

static void all_once(void)
{
    pthread_t thread;
    void *result = NULL;
    for (int i = 0; i < 3; i++)
        CHECK(0, pthread_once(&outer, do_outer));
    CHECK(1, times[0]);
    CHECK(1, times[1]);
    /* The initialisation was cancelled, so it counts as not done. */
    sem_init(&entered, 0, 0);
    sem_init(&never, 0, 0);
    CHECK(0, pthread_create(&thread, NULL, come_once, NULL));
    sem_wait(&entered);
    CHECK(0, pthread_cancel(thread));
    CHECK(0, pthread_join(thread, &result));
    CHECK(1, result == PTHREAD_CANCELED);
    CHECK(0, pthread_once(&given_up, do_given_up));
    CHECK(2, times[2]);
    CHECK(0, pthread_once(&given_up, do_given_up));
    CHECK(2, times[2]);
}

int main(void)
{
    threads();
    conditions();
    in_thread(do_once, NULL);
    do_once(NULL);
    storage();
    all_keys();
    all_once();
    return conforms();
}
