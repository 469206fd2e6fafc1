/* Conformance: the standard and the manual pages on waiting for
 * descriptors, on rarely used futex operations, and on random numbers. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

static int ends[2];
static pthread_t main_thread;
static volatile sig_atomic_t handled;

static long or_errno(long answer)
{
    return answer < 0 ? -errno : answer;
}

static long ms_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

static void *write_one(void *unused)
{
    CHECK(1, write(ends[1], "x", 1));
    return unused;
}

static void take_one(void)
{
    char c;
    CHECK(1, read(ends[0], &c, 1));
}

static void handle(int signal)
{
    handled = signal;
}

static void *interrupt_main(void *unused)
{
    CHECK(0, pthread_kill(main_thread, SIGUSR1));
    return unused;
}

static void polls(void)
{
    struct pollfd p = { ends[0], POLLIN, 0 };
    struct timespec start, none = { 0, 0 }, some = { 0, 30000000 }, wrong = { 0, -1 };
    CHECK(0, poll(&p, 1, 0));
    clock_gettime(CLOCK_MONOTONIC, &start);
    CHECK(0, poll(&p, 1, 30));
    CHECK(1, ms_since(&start) >= 30);
    clock_gettime(CLOCK_MONOTONIC, &start);
    CHECK(0, poll(NULL, 0, 30));
    CHECK(1, ms_since(&start) >= 30);
    CHECK(0, ppoll(&p, 1, &none, NULL));
    CHECK(0, ppoll(&p, 1, &some, NULL));
    CHECK(-EINVAL, or_errno(ppoll(&p, 1, &wrong, NULL)));
    pthread_t thread;
    CHECK(0, pthread_create(&thread, NULL, write_one, NULL));
    CHECK(1, poll(&p, 1, -1));
    CHECK(POLLIN, p.revents);
    take_one();
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, pthread_create(&thread, NULL, write_one, NULL));
    CHECK(1, ppoll(&p, 1, NULL, NULL));
    take_one();
    CHECK(0, pthread_join(thread, NULL));
}

static void selects(void)
{
    fd_set set, other;
    struct timeval limit = { 0, 30000 };
    struct timespec some = { 0, 30000000 };
    FD_ZERO(&set);
    FD_ZERO(&other);
    FD_SET(ends[0], &set);
    FD_SET(ends[1], &other);
    CHECK(1, select(ends[1] + 1, &set, &other, NULL, NULL));
    CHECK(0, FD_ISSET(ends[0], &set));
    CHECK(1, !!FD_ISSET(ends[1], &other));
    FD_SET(ends[0], &set);
    CHECK(0, select(ends[0] + 1, &set, NULL, NULL, &limit));
    CHECK(0, FD_ISSET(ends[0], &set));
    FD_SET(ends[0], &set);
    CHECK(0, pselect(ends[0] + 1, &set, NULL, NULL, &some, NULL));
    CHECK(-EINVAL, or_errno(select(-1, NULL, NULL, NULL, NULL)));
    pthread_t thread;
    FD_SET(ends[0], &set);
    CHECK(0, pthread_create(&thread, NULL, write_one, NULL));
    CHECK(1, select(ends[0] + 1, &set, NULL, NULL, NULL));
    CHECK(1, !!FD_ISSET(ends[0], &set));
    take_one();
    CHECK(0, pthread_join(thread, NULL));
}

static void epolls(void)
{
    int epoll = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN, .data.u32 = 17 }, got;
    CHECK(0, epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event));
    CHECK(0, epoll_wait(epoll, &got, 1, 0));
    CHECK(0, epoll_wait(epoll, &got, 1, 30));
    CHECK(-EINVAL, or_errno(epoll_wait(epoll, &got, 0, 30)));
    pthread_t thread;
    CHECK(0, pthread_create(&thread, NULL, write_one, NULL));
    CHECK(1, epoll_wait(epoll, &got, 1, -1));
    CHECK(17, got.data.u32);
    take_one();
    CHECK(0, pthread_join(thread, NULL));
    close(epoll);
}

/* None of these calls is restarted after a handler, even with SA_RESTART (signal(7)). */
static void interrupted(void)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    sigset_t usr1, none;
    CHECK(0, sigaction(SIGUSR1, &action, NULL));
    sigemptyset(&none);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    CHECK(0, pthread_sigmask(SIG_BLOCK, &usr1, NULL));
    pthread_t thread;
    struct pollfd p = { ends[0], POLLIN, 0 };
    /* Masked until the wait admits the signal, in either order. */
    CHECK(0, pthread_create(&thread, NULL, interrupt_main, NULL));
    handled = 0;
    CHECK(-EINTR, or_errno(ppoll(&p, 1, NULL, &none)));
    CHECK(SIGUSR1, handled);
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, pthread_create(&thread, NULL, interrupt_main, NULL));
    handled = 0;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    CHECK(-EINTR, or_errno(pselect(ends[0] + 1, &set, NULL, NULL, NULL, &none)));
    CHECK(SIGUSR1, handled);
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, pthread_sigmask(SIG_UNBLOCK, &usr1, NULL));
}

static uint32_t from, to, asleep;

static long futex(uint32_t *word, int operation, long value, void *more, uint32_t *other, long last)
{
    return or_errno(syscall(SYS_futex, word, operation, value, more, other, last));
}

static void *wait_for_requeue(void *unused)
{
    __atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
    CHECK(0, futex(&from, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &to, 0));
    CHECK(gettid(), to & FUTEX_TID_MASK);
    CHECK(0, futex(&to, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    return unused;
}

static void requeued_pi(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        CHECK(0, pthread_create(&thread[i], NULL, wait_for_requeue, NULL));
    CHECK(0, futex(&to, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    CHECK(-EINVAL, futex(&from, FUTEX_CMP_REQUEUE_PI, 2, (void *)1, &to, 0));
    CHECK(-EAGAIN, futex(&from, FUTEX_CMP_REQUEUE_PI, 1, (void *)1, &to, 1));
    for (int moved = 0; moved < 2;) {
        long now = futex(&from, FUTEX_CMP_REQUEUE_PI, 1, (void *)1, &to, 0);
        CHECK(1, now >= 0);
        if (now < 0)
            return;
        moved += now;
        sched_yield();
    }
    CHECK(gettid(), to & FUTEX_TID_MASK);
    CHECK(0, futex(&to, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    for (int i = 0; i < 2; i++)
        CHECK(0, pthread_join(thread[i], NULL));
    CHECK(0, to);
}

#ifdef SYS_futex_waitv
struct waiter {
    uint64_t value, address;
    uint32_t flags, reserved;
};

static uint32_t word;

static void *set_word(void *unused)
{
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return unused;
}

static void vector(void)
{
    enum { U32_PRIVATE = 2 | FUTEX_PRIVATE_FLAG };
    struct waiter one = { 0, (uintptr_t)&word, U32_PRIVATE, 0 };
    struct timespec past = { 1, 0 };
    CHECK(-EINVAL, or_errno(syscall(SYS_futex_waitv, &one, 0, 0, NULL, CLOCK_MONOTONIC)));
    CHECK(-ETIMEDOUT, or_errno(syscall(SYS_futex_waitv, &one, 1, 0, &past, CLOCK_MONOTONIC)));
    pthread_t thread;
    CHECK(0, pthread_create(&thread, NULL, set_word, NULL));
    long got = or_errno(syscall(SYS_futex_waitv, &one, 1, 0, NULL, CLOCK_MONOTONIC));
    CHECK(1, got == 0 || got == -EAGAIN);
    CHECK(0, pthread_join(thread, NULL));
    CHECK(-EAGAIN, or_errno(syscall(SYS_futex_waitv, &one, 1, 0, NULL, CLOCK_MONOTONIC)));

    uint32_t other = 0;
    struct waiter two[2] = { { 0, (uintptr_t)&other, U32_PRIVATE, 0 }, one };
    CHECK(-EAGAIN, or_errno(syscall(SYS_futex_waitv, two, 2, 0, NULL, CLOCK_MONOTONIC)));
    word = 0;
    CHECK(-ETIMEDOUT, or_errno(syscall(SYS_futex_waitv, two, 2, 0, &past, CLOCK_MONOTONIC)));
    two[0].reserved = 1;
    CHECK(-EINVAL, or_errno(syscall(SYS_futex_waitv, two, 2, 0, NULL, CLOCK_MONOTONIC)));
    two[0].reserved = 0;
    CHECK(-EINVAL, or_errno(syscall(SYS_futex_waitv, two, 129, 0, NULL, CLOCK_MONOTONIC)));
    CHECK(0, pthread_create(&thread, NULL, set_word, NULL));
    got = or_errno(syscall(SYS_futex_waitv, two, 2, 0, NULL, CLOCK_MONOTONIC));
    // The index of the word that was woken, or an error if the wait began too late.
    CHECK(1, got == 1 || got == -EAGAIN);
    CHECK(0, pthread_join(thread, NULL));
}
#else
static void vector(void)
{
}
#endif

int main(void)
{
    main_thread = pthread_self();
    CHECK(0, pipe(ends));
    polls();
    selects();
    epolls();
    interrupted();
    requeued_pi();
    vector();
    return conforms();
}
