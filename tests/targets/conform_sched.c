/* Conformance: the standard and the manual pages on scheduling, processors and thread attributes. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "conform.h"

static long or_errno(long answer)
{
    return answer == -1 ? -errno : answer;
}

static cpu_set_t first_of(const cpu_set_t *set)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, set))
            CPU_SET(cpu, &one);
    return one;
}

static void *has_one(void *unused)
{
    cpu_set_t set;
    CHECK(0, pthread_getaffinity_np(pthread_self(), sizeof set, &set));
    CHECK(1, CPU_COUNT(&set));
    unsigned processor = CPU_SETSIZE, node = 77;
    CHECK(0, getcpu(&processor, &node));
    CHECK(1, !!CPU_ISSET(processor, &set));
    CHECK(1, node < 77);
    CHECK(1, !!CPU_ISSET(sched_getcpu(), &set));
    return unused;
}

static void processors(void)
{
    cpu_set_t all, one, none, got;
    CPU_ZERO(&none);
    CHECK(0, sched_getaffinity(0, sizeof all, &all));
    CHECK(1, CPU_COUNT(&all) >= 1);
    one = first_of(&all);
    CHECK(-EINVAL, or_errno(sched_getaffinity(0, 1, &got)));
    CHECK(-EINVAL, or_errno(sched_setaffinity(0, sizeof none, &none)));
    CHECK(-ESRCH, or_errno(sched_getaffinity(INT_MAX, sizeof got, &got)));
    CHECK(EINVAL, pthread_setaffinity_np(pthread_self(), sizeof none, &none));
    CHECK(EINVAL, pthread_getaffinity_np(pthread_self(), 1, &got));
    /* The new thread inherits the creator's settings, or gets those of the attributes. */
    CHECK(0, sched_setaffinity(0, sizeof one, &one));
    run_in_thread(has_one, NULL);
    CHECK(0, sched_setaffinity(0, sizeof all, &all));
    CHECK(0, sched_getaffinity(0, sizeof got, &got));
    CHECK(1, !!CPU_EQUAL(&got, &all));
    pthread_attr_t a;
    pthread_t thread;
    CHECK(0, pthread_attr_init(&a));
    CHECK(0, pthread_attr_getaffinity_np(&a, sizeof got, &got));
    CHECK(CPU_SETSIZE, CPU_COUNT(&got));
    CHECK(0, pthread_attr_setaffinity_np(&a, sizeof one, &one));
    CHECK(0, pthread_attr_getaffinity_np(&a, sizeof got, &got));
    CHECK(1, !!CPU_EQUAL(&got, &one));
    CHECK(0, pthread_create(&thread, &a, has_one, NULL));
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, pthread_attr_setaffinity_np(&a, sizeof none, &none));
    CHECK(EINVAL, pthread_create(&thread, &a, has_one, NULL));
    CHECK(0, pthread_attr_destroy(&a));
}

static void policies(void)
{
    struct sched_param p = { .sched_priority = 0 }, high = { .sched_priority = 1000 };
    struct timespec slice = { -1, -1 };
    static const int real_time[] = { SCHED_FIFO, SCHED_RR }, other[] = { SCHED_OTHER, SCHED_BATCH, SCHED_IDLE };
    for (int i = 0; i < 2; i++) {
        CHECK(1, sched_get_priority_min(real_time[i]));
        CHECK(99, sched_get_priority_max(real_time[i]));
        CHECK(-EINVAL, or_errno(sched_setscheduler(0, real_time[i], &p)));
        CHECK(-EINVAL, or_errno(sched_setscheduler(0, real_time[i], &high)));
    }
    for (int i = 0; i < 3; i++) {
        CHECK(0, sched_get_priority_min(other[i]));
        CHECK(0, sched_get_priority_max(other[i]));
        CHECK(-EINVAL, or_errno(sched_setscheduler(0, other[i], &high)));
    }
    CHECK(-EINVAL, or_errno(sched_get_priority_min(77)));
    CHECK(-EINVAL, or_errno(sched_get_priority_max(77)));
    CHECK(-EINVAL, or_errno(sched_setscheduler(0, 77, &p)));
    CHECK(SCHED_OTHER, sched_getscheduler(0));
    CHECK(0, sched_setscheduler(0, SCHED_OTHER, &p));
    CHECK(-EINVAL, or_errno(sched_setparam(0, &high)));
    CHECK(0, sched_setparam(0, &p));
    p.sched_priority = 9;
    CHECK(0, sched_getparam(0, &p));
    CHECK(0, p.sched_priority);
    CHECK(SCHED_OTHER, sched_getscheduler(getpid()));
    CHECK(-ESRCH, or_errno(sched_getscheduler(INT_MAX)));
    CHECK(-ESRCH, or_errno(sched_getparam(INT_MAX, &p)));
    CHECK(-EINVAL, or_errno(sched_getscheduler(-1)));
    CHECK(0, sched_rr_get_interval(0, &slice));
    CHECK(1, slice.tv_sec >= 0 && slice.tv_nsec >= 0);
    CHECK(0, sched_yield());
    CHECK(EINVAL, pthread_setschedparam(pthread_self(), 77, &p));
    CHECK(EINVAL, pthread_setschedparam(pthread_self(), SCHED_OTHER, &high));
    CHECK(EINVAL, pthread_setschedprio(pthread_self(), 1000));
}

/* It may be a larger stack that was used before. */
static void *of_size(void *size)
{
    pthread_attr_t a;
    size_t got = 0;
    CHECK(0, pthread_getattr_np(pthread_self(), &a));
    CHECK(0, pthread_attr_getstacksize(&a, &got));
    CHECK(1, (long)got >= (long)size);
    CHECK(0, pthread_attr_destroy(&a));
    return NULL;
}

static void *is_detached(void *state)
{
    pthread_attr_t a;
    int got = -1;
    CHECK(0, pthread_getattr_np(pthread_self(), &a));
    CHECK(0, pthread_attr_getdetachstate(&a, &got));
    CHECK((long)state, got);
    CHECK(0, pthread_attr_destroy(&a));
    return NULL;
}

static void attributes(void)
{
    pthread_attr_t a, before;
    pthread_t thread;
    size_t size = 0;
    int got = -1;
    struct sched_param p = { .sched_priority = 50 };
    CHECK(0, pthread_attr_init(&a));
    CHECK(0, pthread_attr_getstacksize(&a, &size));
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    if (limit.rlim_cur != RLIM_INFINITY)
        CHECK((long)limit.rlim_cur, size);
    CHECK(0, pthread_attr_getinheritsched(&a, &got));
    CHECK(PTHREAD_INHERIT_SCHED, got);
    CHECK(0, pthread_attr_getschedpolicy(&a, &got));
    CHECK(SCHED_OTHER, got);
    CHECK(0, pthread_attr_getscope(&a, &got));
    CHECK(PTHREAD_SCOPE_SYSTEM, got);
    CHECK(0, pthread_attr_getschedparam(&a, &p));
    CHECK(0, p.sched_priority);
    p.sched_priority = 50;
    CHECK(EINVAL, pthread_attr_setschedparam(&a, &p));
    CHECK(0, pthread_attr_setschedpolicy(&a, SCHED_FIFO));
    CHECK(0, pthread_attr_setschedparam(&a, &p));
    CHECK(0, pthread_attr_getschedparam(&a, &p));
    CHECK(50, p.sched_priority);
    /* Attributes are ignored unless they were requested. */
    CHECK(0, pthread_create(&thread, &a, is_detached, (void *)PTHREAD_CREATE_JOINABLE));
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, pthread_attr_destroy(&a));
    /* More than there is. */
    CHECK(0, pthread_attr_init(&a));
    CHECK(0, pthread_attr_setstacksize(&a, (size_t)1 << 47));
    CHECK(EAGAIN, pthread_create(&thread, &a, of_size, NULL));
    CHECK(0, pthread_attr_destroy(&a));
    /* The defaults, if no attributes are given. */
    CHECK(0, pthread_getattr_default_np(&before));
    CHECK(0, pthread_attr_init(&a));
    CHECK(0, pthread_attr_setstacksize(&a, 3 << 20));
    CHECK(0, pthread_setattr_default_np(&a));
    CHECK(0, pthread_create(&thread, NULL, of_size, (void *)(3L << 20)));
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, pthread_setattr_default_np(&before));
    CHECK(0, pthread_create(&thread, NULL, of_size, (void *)size));
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, pthread_attr_destroy(&a));
    CHECK(0, pthread_attr_destroy(&before));
}

int main(void)
{
    processors();
    policies();
    attributes();
    return conforms();
}
