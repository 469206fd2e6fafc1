/* Conformance: the standard and the manual pages on threads: creating,
 * joining, attributes, names, keys, once; and on the threads of C11. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>

#include "conform.h"

static const struct timespec past = { 1, 0 };
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *give_back(void *it)
{
    return it;
}

static void *wait_at_gate(void *it)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return it;
}

static void *end_with(void *it)
{
    pthread_exit(it);
}

static void joining(void)
{
    pthread_t thread;
    void *result = NULL;
    struct timespec soon = in_ms(CLOCK_REALTIME, 3), mono = in_ms(CLOCK_MONOTONIC, 3);
    CHECK(1, run_in_thread(give_back, &thread) == &thread);
    CHECK(1, run_in_thread(end_with, &thread) == &thread);
    pthread_mutex_lock(&gate);
    CHECK(0, pthread_create(&thread, NULL, wait_at_gate, &gate));
    CHECK(EBUSY, pthread_tryjoin_np(thread, &result));
    CHECK(ETIMEDOUT, pthread_timedjoin_np(thread, &result, &soon));
    CHECK(ETIMEDOUT, pthread_timedjoin_np(thread, &result, &past));
    CHECK(ETIMEDOUT, pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &mono));
    CHECK(EINVAL, pthread_clockjoin_np(thread, &result, CLOCK_PROCESS_CPUTIME_ID, &mono));
    CHECK(0, pthread_equal(thread, pthread_self()));
    CHECK(1, !!pthread_equal(thread, thread));
    pthread_mutex_unlock(&gate);
    CHECK(0, pthread_join(thread, &result));
    CHECK(1, result == &gate);
    CHECK(0, pthread_create(&thread, NULL, give_back, NULL));
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, pthread_create(&thread, NULL, give_back, NULL));
    CHECK(0, pthread_detach(thread));
}

static void *measure(void *wanted)
{
    pthread_attr_t a;
    size_t size = 0, guard = 0;
    void *low = NULL;
    char here;
    int state = -1;
    CHECK(0, pthread_getattr_np(pthread_self(), &a));
    CHECK(0, pthread_attr_getstack(&a, &low, &size));
    CHECK(0, pthread_attr_getguardsize(&a, &guard));
    CHECK(0, pthread_attr_getdetachstate(&a, &state));
    CHECK(PTHREAD_CREATE_JOINABLE, state);
    CHECK(1, &here >= (char *)low && &here < (char *)low + size);
    CHECK(1, size + guard >= *(size_t *)wanted);
    CHECK(0, pthread_attr_destroy(&a));
    return NULL;
}

static void *touch(void *size)
{
    /* Nearly all of the requested stack is usable. */
    volatile char block[*(size_t *)size - 32768];
    for (size_t i = 0; i < sizeof block; i += 4096)
        block[i] = 1;
    return NULL;
}

static void attributes(void)
{
    pthread_attr_t a;
    pthread_t thread;
    size_t size = 0, guard = 0;
    int got = -1;
    struct sched_param priority = { .sched_priority = 0 };
    CHECK(0, pthread_attr_init(&a));
    CHECK(0, pthread_attr_getdetachstate(&a, &got));
    CHECK(PTHREAD_CREATE_JOINABLE, got);
    CHECK(EINVAL, pthread_attr_setdetachstate(&a, 77));
    CHECK(0, pthread_attr_getguardsize(&a, &guard));
    CHECK(4096, guard);
    CHECK(EINVAL, pthread_attr_setstacksize(&a, PTHREAD_STACK_MIN - 1));
    CHECK(EINVAL, pthread_attr_setinheritsched(&a, 77));
    CHECK(EINVAL, pthread_attr_setschedpolicy(&a, 77));
    CHECK(EINVAL, pthread_attr_setscope(&a, 77));
    CHECK(ENOTSUP, pthread_attr_setscope(&a, PTHREAD_SCOPE_PROCESS));
    CHECK(0, pthread_attr_setscope(&a, PTHREAD_SCOPE_SYSTEM));
    CHECK(0, pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
    CHECK(0, pthread_attr_setschedpolicy(&a, SCHED_OTHER));
    CHECK(0, pthread_attr_setschedparam(&a, &priority));
    static const size_t sizes[] = { 65536, 1 << 18, 16 << 20 };
    for (int i = 0; i < 3; i++) {
        size = sizes[i];
        CHECK(0, pthread_attr_setstacksize(&a, size));
        CHECK(0, pthread_attr_setguardsize(&a, i == 1 ? 16384 : 4096));
        CHECK(0, pthread_create(&thread, &a, measure, &size));
        CHECK(0, pthread_join(thread, NULL));
        if (i == 2)
            continue;
        CHECK(0, pthread_create(&thread, &a, touch, &size));
        CHECK(0, pthread_join(thread, NULL));
    }
    void *own = aligned_alloc(4096, 1 << 18), *low = NULL;
    size = 1 << 18;
    CHECK(0, pthread_attr_setstack(&a, own, size));
    CHECK(0, pthread_attr_getstack(&a, &low, &size));
    CHECK(1, low == own && size == 1 << 18);
    CHECK(0, pthread_create(&thread, &a, measure, &size));
    CHECK(0, pthread_join(thread, NULL));
    free(own);
    CHECK(0, pthread_attr_destroy(&a));
    CHECK(0, pthread_attr_init(&a));
    CHECK(0, pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
    CHECK(0, pthread_create(&thread, &a, give_back, NULL));
    CHECK(0, pthread_attr_destroy(&a));
}

static void *named(void *unused)
{
    char name[16] = "";
    CHECK(0, pthread_setname_np(pthread_self(), "fifteen letters"));
    CHECK(0, pthread_getname_np(pthread_self(), name, sizeof name));
    CHECK(0, strcmp(name, "fifteen letters"));
    CHECK(ERANGE, pthread_setname_np(pthread_self(), "sixteen letters!"));
    CHECK(ERANGE, pthread_getname_np(pthread_self(), name, 15));
    return unused;
}

static void scheduling(void)
{
    cpu_set_t set, one;
    int policy = -1;
    struct sched_param priority = { .sched_priority = 7 };
    CHECK(0, pthread_getaffinity_np(pthread_self(), sizeof set, &set));
    CHECK(1, CPU_COUNT(&set) > 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &set))
            CPU_SET(cpu, &one);
    CHECK(0, pthread_setaffinity_np(pthread_self(), sizeof one, &one));
    CHECK(0, pthread_getaffinity_np(pthread_self(), sizeof set, &set));
    CHECK(1, !!CPU_EQUAL(&one, &set));
    CPU_ZERO(&set);
    CHECK(EINVAL, pthread_setaffinity_np(pthread_self(), sizeof set, &set));
    CHECK(0, pthread_getschedparam(pthread_self(), &policy, &priority));
    CHECK(SCHED_OTHER, policy);
    CHECK(0, priority.sched_priority);
    CHECK(0, pthread_setschedparam(pthread_self(), policy, &priority));
    CHECK(0, pthread_setschedprio(pthread_self(), 0));
    clockid_t clock;
    CHECK(0, pthread_getcpuclockid(pthread_self(), &clock));
    CHECK(0, clock_gettime(clock, &(struct timespec){ 0, 0 }));
    CHECK(0, pthread_getconcurrency());
    CHECK(EINVAL, pthread_setconcurrency(-1));
    CHECK(0, pthread_setconcurrency(3));
    CHECK(3, pthread_getconcurrency());
    CHECK(0, pthread_setconcurrency(0));
}

static pthread_key_t keys[2];
static int destroyed;

static void destroy(void *value)
{
    destroyed++;
    /* Values set by a destructor are destroyed in another round, up to four. */
    if ((intptr_t)value > 1)
        pthread_setspecific(keys[0], (void *)((intptr_t)value - 1));
}

static void *use_keys(void *times)
{
    CHECK(1, pthread_getspecific(keys[0]) == NULL);
    CHECK(0, pthread_setspecific(keys[0], times));
    CHECK(0, pthread_setspecific(keys[1], times));
    CHECK(1, pthread_getspecific(keys[0]) == times);
    return NULL;
}

static void all_keys(void)
{
    CHECK(0, pthread_key_create(&keys[0], destroy));
    CHECK(0, pthread_key_create(&keys[1], NULL));
    run_in_thread(use_keys, (void *)1);
    CHECK(1, destroyed);
    run_in_thread(use_keys, (void *)3);
    CHECK(4, destroyed);
    run_in_thread(use_keys, (void *)100);
    CHECK(4 + PTHREAD_DESTRUCTOR_ITERATIONS, destroyed);
    CHECK(0, pthread_key_delete(keys[0]));
    CHECK(0, pthread_key_delete(keys[1]));
    CHECK(EINVAL, pthread_key_delete(keys[0]));
    CHECK(EINVAL, pthread_setspecific(keys[0], NULL));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int times;

static void count(void)
{
    times++;
}

static void *do_once(void *unused)
{
    CHECK(0, pthread_once(&once, count));
    CHECK(1, times);
    return unused;
}

static int c11_result(void *it)
{
    return *(int *)it;
}

static int c11_exit(void *it)
{
    thrd_exit(*(int *)it);
}

static mtx_t mtx;

static int c11_try(void *unused)
{
    (void)unused;
    int got = mtx_trylock(&mtx);
    if (got == thrd_success)
        mtx_unlock(&mtx);
    return got;
}

static int c11_timed(void *unused)
{
    (void)unused;
    return mtx_timedlock(&mtx, &past);
}

static int in_c11(thrd_start_t work)
{
    thrd_t thread;
    int value = -5, got = -1;
    CHECK(thrd_success, thrd_create(&thread, work, &value));
    CHECK(thrd_success, thrd_join(thread, &got));
    return got;
}

static void c11(void)
{
    cnd_t cnd;
    static const int kinds[] = { mtx_plain, mtx_timed, mtx_plain | mtx_recursive,
                                 mtx_timed | mtx_recursive };
    CHECK(-5, in_c11(c11_result));
    CHECK(-5, in_c11(c11_exit));
    CHECK(1, !!thrd_equal(thrd_current(), thrd_current()));
    for (int i = 0; i < 4; i++) {
        CHECK(thrd_success, mtx_init(&mtx, kinds[i]));
        CHECK(thrd_success, in_c11(c11_try));
        CHECK(thrd_success, mtx_lock(&mtx));
        CHECK(thrd_busy, in_c11(c11_try));
        CHECK(thrd_timedout, in_c11(c11_timed));
        CHECK(i > 1 ? thrd_success : thrd_busy, mtx_trylock(&mtx));
        if (i > 1)
            CHECK(thrd_success, mtx_unlock(&mtx));
        CHECK(thrd_success, mtx_unlock(&mtx));
        CHECK(thrd_success, in_c11(c11_try));
        mtx_destroy(&mtx);
    }
    CHECK(thrd_success, mtx_init(&mtx, mtx_plain));
    CHECK(thrd_success, cnd_init(&cnd));
    CHECK(thrd_success, cnd_signal(&cnd));
    CHECK(thrd_success, cnd_broadcast(&cnd));
    mtx_lock(&mtx);
    CHECK(thrd_timedout, cnd_timedwait(&cnd, &mtx, &past));
    mtx_unlock(&mtx);
    cnd_destroy(&cnd);
    mtx_destroy(&mtx);
}

int main(void)
{
    joining();
    attributes();
    run_in_thread(named, NULL);
    scheduling();
    all_keys();
    run_in_thread(do_once, NULL);
    do_once(NULL);
    c11();
    return conforms();
}
