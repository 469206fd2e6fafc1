/* Conformance: the standard and the manual pages on invalid timeouts, invalid clocks
 * and names; and the behaviour of glibc when the owner of a mutex locks it again. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

static const struct timespec past = { 1, 0 }, before_all = { -1, -1 }, negative = { -1, 0 },
                             bad = { 0, 1000000000 };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static mtx_t mtx;
static sem_t gate;

static long or_errno(long answer)
{
    return answer == -1 ? -errno : answer;
}

/* The mutexes are taken. */
static void *locks(void *unused)
{
    CHECK(ETIMEDOUT, pthread_mutex_timedlock(&m, &before_all));
    CHECK(ETIMEDOUT, pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &before_all));
    CHECK(EINVAL, pthread_mutex_timedlock(&m, &bad));
    CHECK(thrd_timedout, mtx_timedlock(&mtx, &before_all));
    CHECK(thrd_error, mtx_timedlock(&mtx, &bad));
    return unused;
}

static void *stays(void *unused)
{
    sem_wait(&gate);
    return unused;
}

/* Some arguments are checked before the call may block, others only if it blocks. */
static void limits(void)
{
    sem_t s;
    int value = -1;
    pthread_t thread;
    CHECK(0, pthread_mutex_timedlock(&m, &bad));
    CHECK(thrd_success, mtx_timedlock(&mtx, &bad));
    run_in_thread(locks, NULL);
    CHECK(EINVAL, pthread_cond_timedwait(&c, &m, &before_all));
    CHECK(ETIMEDOUT, pthread_cond_timedwait(&c, &m, &negative));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(thrd_success, mtx_unlock(&mtx));
    CHECK(0, sem_init(&s, 0, 1));
    CHECK(-EINVAL, or_errno(sem_timedwait(&s, &bad)));
    CHECK(-EINVAL, or_errno(sem_timedwait(&s, &before_all)));
    CHECK(-EINVAL, or_errno(sem_clockwait(&s, CLOCK_MONOTONIC, &bad)));
    CHECK(0, sem_getvalue(&s, &value));
    CHECK(1, value);
    CHECK(0, sem_timedwait(&s, &negative));
    CHECK(-ETIMEDOUT, or_errno(sem_timedwait(&s, &negative)));
    CHECK(0, sem_destroy(&s));
    CHECK(0, sem_init(&gate, 0, 0));
    CHECK(0, pthread_create(&thread, NULL, stays, NULL));
    CHECK(ETIMEDOUT, pthread_timedjoin_np(thread, NULL, &before_all));
    CHECK(ETIMEDOUT, pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &negative));
    CHECK(0, sem_post(&gate));
    CHECK(0, pthread_join(thread, NULL));
    CHECK(-EINVAL, or_errno(nanosleep(&negative, NULL)));
    CHECK(-EINVAL, or_errno(ppoll(NULL, 0, &negative, NULL)));
    CHECK(-EINVAL, or_errno(pselect(0, NULL, NULL, NULL, &negative, NULL)));
    sigset_t none;
    sigemptyset(&none);
    CHECK(-EINVAL, or_errno(sigtimedwait(&none, NULL, &negative)));
}

static void clocks(void)
{
    struct timespec now;
    struct sigevent nothing = { .sigev_notify = SIGEV_NONE };
    struct itimerval is, stop = { { 0, 0 }, { 0, 0 } }, no = { { 0, 0 }, { 0, 1000000 } };
    timer_t timer;
    clockid_t clock;
    static const clockid_t none[] = { 10, 12, 77, -1, -5 };
    for (int i = 0; i < 5; i++) {
        CHECK(-EINVAL, or_errno(clock_gettime(none[i], &now)));
        CHECK(none[i] == -5 ? EOPNOTSUPP : EINVAL, clock_nanosleep(none[i], TIMER_ABSTIME, &past, NULL));
    }
    static const clockid_t no_waits[] = { CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
                                          CLOCK_MONOTONIC_COARSE };
    for (int i = 0; i < 3; i++) {
        CHECK(0, clock_gettime(no_waits[i], &now));
        CHECK(EOPNOTSUPP, clock_nanosleep(no_waits[i], 0, &bad, NULL));
        CHECK(-EOPNOTSUPP, or_errno(timer_create(no_waits[i], &nothing, &timer)));
    }
    CHECK(EINVAL, clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &past, NULL));
    CHECK(0, clock_nanosleep(CLOCK_TAI, TIMER_ABSTIME, &past, NULL));
    CHECK(0, timer_create(CLOCK_TAI, &nothing, &timer));
    CHECK(0, timer_delete(timer));
    CHECK(0, pthread_getcpuclockid(pthread_self(), &clock));
    CHECK(0, clock_gettime(clock, &now));
    CHECK(0, clock_getcpuclockid(0, &clock));
    CHECK(0, clock_gettime(clock, &now));
    static const int kinds[] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
    for (int i = 0; i < 3; i++) {
        CHECK(0, getitimer(kinds[i], &is));
        CHECK(0, is.it_value.tv_sec + is.it_value.tv_usec);
        CHECK(0, setitimer(kinds[i], &stop, &is));
        CHECK(-EINVAL, or_errno(setitimer(kinds[i], &no, NULL)));
    }
    CHECK(-EINVAL, or_errno(getitimer(77, &is)));
    CHECK(-EINVAL, or_errno(setitimer(77, &stop, NULL)));
}

static void *called(void *name)
{
    char is[16];
    CHECK(0, pthread_getname_np(pthread_self(), is, sizeof is));
    CHECK(0, strcmp(is, name));
    CHECK(0, prctl(PR_SET_NAME, "cut off where it is too long"));
    CHECK(0, pthread_getname_np(pthread_self(), is, sizeof is));
    CHECK(0, strcmp(is, "cut off where i"));
    return NULL;
}

/* A thread begins with its creator's name (prctl(2)). */
static void names(void)
{
    char is[16] = "";
    CHECK(0, pthread_setname_np(pthread_self(), "creator"));
    run_in_thread(called, "creator");
    CHECK(0, prctl(PR_GET_NAME, is));
    CHECK(0, strcmp(is, "creator"));
    CHECK(0, pthread_setname_np(pthread_self(), ""));
    CHECK(0, pthread_getname_np(pthread_self(), is, sizeof is));
    CHECK(0, strcmp(is, ""));
    run_in_thread(called, "");
    /* A name with a directory is a file name, and no semaphore's name. */
    char longer[300];
    static const int sizes[] = { 252, 255, 256 }, errors[] = { ENAMETOOLONG, ENAMETOOLONG, EINVAL };
    for (int i = 0; i < 3; i++) {
        memset(longer, 'x', sizeof longer);
        longer[0] = '/';
        longer[sizes[i] + 1] = 0;
        CHECK(1, sem_open(longer, O_CREAT, 0600, 1) == SEM_FAILED && errno == errors[i]);
        CHECK(errors[i] == EINVAL ? -ENOENT : -errors[i], or_errno(sem_unlink(longer)));
    }
}

/* A timer's descriptor can be read, but not written to. */
static void timers(void)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, 0), epoll = epoll_create1(0);
    struct pollfd p = { timer, POLLOUT, 0 };
    struct epoll_event event = { .events = EPOLLOUT };
    struct timeval at_once = { 0, 0 };
    fd_set written;
    FD_ZERO(&written);
    FD_SET(timer, &written);
    CHECK(0, poll(&p, 1, 0));
    CHECK(0, poll(&p, 1, 1));
    CHECK(0, select(timer + 1, NULL, &written, NULL, &at_once));
    CHECK(0, FD_ISSET(timer, &written));
    CHECK(0, epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event));
    CHECK(0, epoll_wait(epoll, &event, 1, 0));
    close(epoll);
    close(timer);
}

static void make(int type, int robust, int protocol)
{
    pthread_mutexattr_t a;
    CHECK(0, pthread_mutexattr_init(&a));
    CHECK(0, pthread_mutexattr_settype(&a, type));
    CHECK(0, pthread_mutexattr_setrobust(&a, robust));
    CHECK(0, pthread_mutexattr_setprotocol(&a, protocol));
    CHECK(0, pthread_mutex_init(&m, &a));
    CHECK(0, pthread_mutexattr_destroy(&a));
}

static void *lock_and_end(void *unused)
{
    CHECK(0, pthread_mutex_lock(&m));
    return unused;
}

static void *signals_unlocked(void *unused)
{
    CHECK(EBUSY, pthread_mutex_trylock(&m));
    CHECK(0, pthread_cond_signal(&c));
    return unused;
}

static void again(void)
{
    struct timespec late;
    pthread_t thread;
    static const int protocols[] = { PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT };
    for (int robust = 0; robust < 2; robust++) {
        for (int i = 0; i + robust < 2; i++) {
            make(PTHREAD_MUTEX_ERRORCHECK, robust, protocols[i]);
            CHECK(0, pthread_mutex_lock(&m));
            CHECK(robust || i ? EDEADLK : EBUSY, pthread_mutex_trylock(&m));
            CHECK(0, pthread_mutex_unlock(&m));
            CHECK(0, pthread_mutex_destroy(&m));
        }
    }
    /* Locked twice while inconsistent: only the last unlock makes it unusable. */
    make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    run_in_thread(lock_and_end, NULL);
    CHECK(EOWNERDEAD, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_trylock(&m));
    CHECK(ENOTRECOVERABLE, pthread_mutex_unlock(&m));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(ENOTRECOVERABLE, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_destroy(&m));
    /* A wait does not release a mutex that was locked twice; it may end nevertheless. */
    make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(0, pthread_mutex_lock(&m));
    CHECK(ETIMEDOUT, pthread_cond_timedwait(&c, &m, &past));
    CHECK(0, pthread_create(&thread, NULL, signals_unlocked, NULL));
    late = in_ms(CLOCK_REALTIME, 20);
    int got = pthread_cond_timedwait(&c, &m, &late);
    CHECK(1, got == 0 || got == ETIMEDOUT);
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, pthread_mutex_unlock(&m));
    CHECK(EPERM, pthread_mutex_unlock(&m));
    CHECK(0, pthread_mutex_destroy(&m));
}

static void numbers(void)
{
    struct sched_param p = { .sched_priority = 0 };
    CHECK(-EINVAL, or_errno(sched_getparam(0, NULL)));
    CHECK(-EINVAL, or_errno(sched_setparam(0, NULL)));
    CHECK(-EINVAL, or_errno(sched_setscheduler(-1, SCHED_OTHER, &p)));
    CHECK(-EINVAL, or_errno(syscall(SYS_tkill, -1, 0)));
    CHECK(-EINVAL, or_errno(syscall(SYS_tgkill, -1, gettid(), 0)));
    CHECK(-ESRCH, or_errno(syscall(SYS_tgkill, INT32_MAX, gettid(), 0)));
    CHECK(0, syscall(SYS_tgkill, getpid(), gettid(), 0));
}

int main(void)
{
    CHECK(thrd_success, mtx_init(&mtx, mtx_timed));
    limits();
    clocks();
    names();
    timers();
    again();
    numbers();
    return conforms();
}
