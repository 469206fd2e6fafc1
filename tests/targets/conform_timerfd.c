/* Conformance: timerfd_create(2). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

static int timer;

static long or_errno(long answer)
{
    return answer == -1 ? -errno : answer;
}

static struct itimerspec in(long ms, long again)
{
    return (struct itimerspec){ .it_value = { ms / 1000, ms % 1000 * 1000000 },
                                .it_interval = { again / 1000, again % 1000 * 1000000 } };
}

static long times(void)
{
    uint64_t counted = 0;
    long got = read(timer, &counted, sizeof counted);
    return got == sizeof counted ? (long)counted : -errno;
}

static void set(long ms, long again)
{
    struct itimerspec when = in(ms, again);
    CHECK(0, timerfd_settime(timer, 0, &when, NULL));
}

static void errors(void)
{
    struct itimerspec when = in(1, 0), bad = { .it_value = { 0, 1000000000 } }, now;
    uint64_t counted;
    char small[7];
    CHECK(-EINVAL, or_errno(timerfd_create(77, 0)));
    CHECK(-EINVAL, or_errno(timerfd_create(CLOCK_MONOTONIC, 1)));
    CHECK(-EBADF, or_errno(timerfd_settime(-1, 0, &when, NULL)));
    CHECK(-EBADF, or_errno(timerfd_gettime(-1, &now)));
    CHECK(-EINVAL, or_errno(timerfd_settime(STDIN_FILENO, 0, &when, NULL)));
    CHECK(-EINVAL, or_errno(timerfd_gettime(STDIN_FILENO, &now)));
    CHECK(-EINVAL, or_errno(timerfd_settime(timer, 77, &when, NULL)));
    CHECK(-EINVAL, or_errno(timerfd_settime(timer, 0, &bad, NULL)));
    CHECK(-EINVAL, or_errno(write(timer, &(uint64_t){ 1 }, 8)));
    set(1, 0);
    struct pollfd p = { timer, POLLIN, 0 };
    CHECK(1, poll(&p, 1, -1));
    CHECK(-EINVAL, or_errno(read(timer, small, sizeof small)));
    CHECK(8, read(timer, &counted, sizeof counted));
    CHECK(1, counted);
}

static void once(void)
{
    struct itimerspec now, before, hour = in(3600000, 2000), never = in(0, 0);
    CHECK(0, timerfd_gettime(timer, &now));
    CHECK(0, now.it_value.tv_sec + now.it_value.tv_nsec);
    set(2, 0);
    CHECK(1, times());
    CHECK(0, timerfd_gettime(timer, &now));
    CHECK(0, now.it_value.tv_sec + now.it_value.tv_nsec);
    now.it_value = in_ms(CLOCK_MONOTONIC, 2);
    now.it_interval = never.it_interval;
    CHECK(0, timerfd_settime(timer, TFD_TIMER_ABSTIME, &now, NULL));
    CHECK(1, times());
    struct timespec then = in_ms(CLOCK_MONOTONIC, 0);
    CHECK(1, then.tv_sec > now.it_value.tv_sec || then.tv_nsec >= now.it_value.tv_nsec);
    /* Past: at once. */
    now.it_value = (struct timespec){ 1, 0 };
    CHECK(0, timerfd_settime(timer, TFD_TIMER_ABSTIME, &now, NULL));
    CHECK(1, times());
    /* A stopped timer does not expire, and settime reports the remaining time. */
    CHECK(0, timerfd_settime(timer, 0, &hour, NULL));
    CHECK(0, timerfd_settime(timer, 0, &never, &before));
    CHECK(2, before.it_interval.tv_sec);
    struct pollfd p = { timer, POLLIN, 0 };
    CHECK(0, poll(&p, 1, 3));
    /* Expirations before it was set again are discarded. */
    set(1, 0);
    CHECK(1, poll(&p, 1, -1));
    CHECK(0, timerfd_settime(timer, 0, &never, NULL));
    CHECK(0, poll(&p, 1, 0));
}

static void again(void)
{
    set(1, 1);
    long all = 0;
    while (all < 3) {
        long more = times();
        CHECK(1, more > 0);
        all += more;
    }
    set(0, 0);
}

static void waited_for(void)
{
    int epoll = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = 5 }, got;
    fd_set read;
    CHECK(0, epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event));
    set(1, 0);
    CHECK(1, epoll_wait(epoll, &got, 1, -1));
    CHECK(5, got.data.u32);
    CHECK(1, times());
    FD_ZERO(&read);
    FD_SET(timer, &read);
    set(1, 0);
    CHECK(1, select(timer + 1, &read, NULL, NULL, NULL));
    CHECK(1, times());
    close(epoll);
}

static void *set_it(void *unused)
{
    set(1, 0);
    return unused;
}

/* A thread waits for a timer that another thread sets; one thread reads one expiration. */
static void by_threads(void)
{
    pthread_t thread;
    CHECK(0, pthread_create(&thread, NULL, set_it, NULL));
    CHECK(1, times());
    CHECK(0, pthread_join(thread, NULL));
}

int main(void)
{
    static const int clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME };
    for (int i = 0; i < 3; i++) {
        timer = timerfd_create(clocks[i], TFD_CLOEXEC);
        CHECK(1, timer > 2);
        CHECK(FD_CLOEXEC, fcntl(timer, F_GETFD));
        if (clocks[i] == CLOCK_MONOTONIC) {
            errors();
            once();
        }
        again();
        waited_for();
        by_threads();
        CHECK(0, close(timer));
    }
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    CHECK(-EAGAIN, times());
    set(1000000, 0);
    CHECK(0, close(timer));
    CHECK(-EBADF, times());
    return conforms();
}
