/* Conformance: the standard and the manual pages on clocks and sleeping. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

static const struct timespec none = { 0, 0 }, some = { 0, 2000000 }, past = { 1, 0 };
static const struct timespec bad[] = { { 0, -1 }, { 0, 1000000000 }, { -1, 0 } };

static long or_errno(long answer)
{
    return answer == -1 ? -errno : answer;
}

static long long now(clockid_t clock)
{
    struct timespec t = { -1, -1 };
    CHECK(0, clock_gettime(clock, &t));
    CHECK(1, t.tv_sec >= 0 && t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static const clockid_t clocks[] = { CLOCK_REALTIME,       CLOCK_MONOTONIC,        CLOCK_PROCESS_CPUTIME_ID,
                                    CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
                                    CLOCK_MONOTONIC_COARSE,  CLOCK_BOOTTIME,      CLOCK_TAI };

static void reading(void)
{
    for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        long long before = now(clocks[i]), after = now(clocks[i]);
        CHECK(1, after >= before);
        struct timespec resolution = { -1, -1 };
        CHECK(0, clock_getres(clocks[i], &resolution));
        CHECK(1, resolution.tv_sec == 0 && resolution.tv_nsec > 0);
        CHECK(0, clock_getres(clocks[i], NULL));
    }
    struct timespec t;
    CHECK(-EINVAL, or_errno(clock_gettime(77, &t)));
    CHECK(-EINVAL, or_errno(clock_getres(77, &t)));
    CHECK(-EINVAL, or_errno(clock_settime(CLOCK_MONOTONIC, &t)));
    CHECK(-EINVAL, or_errno(clock_settime(CLOCK_REALTIME, &bad[1])));
    /* All clocks of the time of day agree. */
    struct timeval of_day;
    long long real = now(CLOCK_REALTIME);
    CHECK(0, gettimeofday(&of_day, NULL));
    CHECK(1, of_day.tv_usec >= 0 && of_day.tv_usec < 1000000);
    long long day = of_day.tv_sec * 1000000000LL + of_day.tv_usec * 1000LL;
    CHECK(1, day >= real - 1000 && day - real < 60000000000LL);
    time_t kept, seconds = time(&kept);
    CHECK(1, seconds == kept && seconds - real / 1000000000 < 60 && seconds >= real / 1000000000 - 1);
    CHECK(TIME_UTC, timespec_get(&t, TIME_UTC));
    CHECK(1, t.tv_sec - seconds < 60 && t.tv_sec >= seconds);
    CHECK(0, timespec_get(&t, 77));
    clockid_t own = 0, process = 0;
    CHECK(0, pthread_getcpuclockid(pthread_self(), &own));
    CHECK(0, clock_getcpuclockid(0, &process));
    CHECK(0, clock_gettime(own, &t));
    CHECK(0, clock_gettime(process, &t));
    CHECK(1, clock() != (clock_t)-1);
    struct tms used;
    clock_t ticks = times(&used);
    CHECK(1, ticks != (clock_t)-1 && times(NULL) >= ticks && used.tms_utime >= 0);
    struct rusage usage;
    CHECK(0, getrusage(RUSAGE_SELF, &usage));
    CHECK(1, usage.ru_utime.tv_sec >= 0 && usage.ru_maxrss > 0);
    CHECK(-EINVAL, or_errno(getrusage(77, &usage)));
    struct sysinfo system;
    CHECK(0, sysinfo(&system));
    CHECK(1, system.uptime > 0 && system.totalram > 0);
}

/* Each sleep takes at least as long as requested. */
static void sleeping(void)
{
    static const clockid_t by[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME };
    for (int i = 0; i < 3; i++) {
        long long start = now(by[i]);
        CHECK(0, clock_nanosleep(by[i], 0, &some, NULL));
        CHECK(1, now(by[i]) - start >= 2000000);
        struct timespec until = in_ms(by[i], 2);
        CHECK(0, clock_nanosleep(by[i], TIMER_ABSTIME, &until, NULL));
        CHECK(1, now(by[i]) >= until.tv_sec * 1000000000LL + until.tv_nsec);
        /* A time in the past is not an error. */
        CHECK(0, clock_nanosleep(by[i], TIMER_ABSTIME, &past, NULL));
        CHECK(0, clock_nanosleep(by[i], 0, &none, NULL));
        for (int b = 0; b < 3; b++) {
            CHECK(EINVAL, clock_nanosleep(by[i], 0, &bad[b], NULL));
            CHECK(EINVAL, clock_nanosleep(by[i], TIMER_ABSTIME, &bad[b], NULL));
        }
    }
    CHECK(EINVAL, clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &some, NULL));
    CHECK(EINVAL, clock_nanosleep(77, 0, &some, NULL));
    CHECK(EOPNOTSUPP, clock_nanosleep(CLOCK_MONOTONIC_COARSE, 0, &some, NULL));
    for (int b = 0; b < 3; b++)
        CHECK(-EINVAL, or_errno(nanosleep(&bad[b], NULL)));
    long long start = now(CLOCK_MONOTONIC);
    CHECK(0, nanosleep(&some, NULL));
    CHECK(1, now(CLOCK_MONOTONIC) - start >= 2000000);
    start = now(CLOCK_MONOTONIC);
    CHECK(0, usleep(2000));
    CHECK(1, now(CLOCK_MONOTONIC) - start >= 2000000);
    CHECK(0, sleep(0));
    start = now(CLOCK_MONOTONIC);
    CHECK(0, thrd_sleep(&some, NULL));
    CHECK(1, now(CLOCK_MONOTONIC) - start >= 2000000);
    CHECK(1, thrd_sleep(&bad[0], NULL) < -1);
    start = now(CLOCK_MONOTONIC);
    struct timespec rest = { 7, 7 };
    CHECK(0, nanosleep(&none, &rest));
    CHECK(7, rest.tv_sec);
}

/* A timed wait does not end before its time limit. */
static void *waiting(void *unused)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    struct timespec until = in_ms(CLOCK_REALTIME, 3);
    pthread_mutex_lock(&m);
    int got;
    while ((got = pthread_cond_timedwait(&c, &m, &until)) == 0)
        ;
    CHECK(ETIMEDOUT, got);
    CHECK(1, now(CLOCK_REALTIME) >= until.tv_sec * 1000000000LL + until.tv_nsec);
    pthread_mutex_unlock(&m);
    return unused;
}

int main(void)
{
    reading();
    sleeping();
    run_in_thread(waiting, NULL);
    return conforms();
}
