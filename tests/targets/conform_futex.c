/* Checks futex(2): the result and the errors of each operation. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

static uint32_t word, other, asleep, woken;
static const struct timespec past = { 1, 0 }, short_ = { 0, 2000000 }, none = { 0, 0 }, bad = { 0, -1 };

static long futex(void *at, int operation, uint32_t value, const void *more, void *second, uint32_t last)
{
    long answer = syscall(SYS_futex, at, operation, value, more, second, last);
    return answer == -1 ? -errno : answer;
}

static void waits(int private)
{
    word = 7;
    CHECK(-EAGAIN, futex(&word, FUTEX_WAIT | private, 8, NULL, NULL, 0));
    CHECK(-EAGAIN, futex(&word, FUTEX_WAIT | private, 8, &none, NULL, 0));
    CHECK(-ETIMEDOUT, futex(&word, FUTEX_WAIT | private, 7, &none, NULL, 0));
    CHECK(-ETIMEDOUT, futex(&word, FUTEX_WAIT | private, 7, &short_, NULL, 0));
    CHECK(-EINVAL, futex(&word, FUTEX_WAIT | private, 7, &bad, NULL, 0));
    CHECK(-EINVAL, futex((char *)&word + 1, FUTEX_WAIT | private, 7, &none, NULL, 0));
    CHECK(-EINVAL, futex(&word, FUTEX_WAIT_BITSET | private, 7, &past, NULL, 0));
    CHECK(-ETIMEDOUT, futex(&word, FUTEX_WAIT_BITSET | private, 7, &past, NULL, 1));
    int real = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME | private;
    struct timespec soon = in_ms(CLOCK_REALTIME, 2), mono = in_ms(CLOCK_MONOTONIC, 2);
    CHECK(-ETIMEDOUT, futex(&word, real, 7, &soon, NULL, FUTEX_BITSET_MATCH_ANY));
    CHECK(-ETIMEDOUT, futex(&word, FUTEX_WAIT_BITSET | private, 7, &mono, NULL, FUTEX_BITSET_MATCH_ANY));
    CHECK(-EAGAIN, futex(&word, FUTEX_WAIT_BITSET | private, 6, &past, NULL, 1));
    CHECK(-ENOSYS, futex(&word, 77 | private, 0, NULL, NULL, 0));
    CHECK(-ENOSYS, futex(&word, FUTEX_WAKE | FUTEX_CLOCK_REALTIME | private, 1, NULL, NULL, 0));
}

static void wakes(int private)
{
    /* No task waits. */
    CHECK(0, futex(&word, FUTEX_WAKE | private, 1, NULL, NULL, 0));
    CHECK(0, futex(&word, FUTEX_WAKE | private, INT32_MAX, NULL, NULL, 0));
    CHECK(0, futex(&word, FUTEX_WAKE_BITSET | private, 1, NULL, NULL, 1));
    CHECK(-EINVAL, futex(&word, FUTEX_WAKE_BITSET | private, 1, NULL, NULL, 0));
    CHECK(-EINVAL, futex((char *)&word + 2, FUTEX_WAKE | private, 1, NULL, NULL, 0));
    CHECK(0, futex(&word, FUTEX_REQUEUE | private, 1, (void *)1, &other, 0));
    CHECK(0, futex(&word, FUTEX_CMP_REQUEUE | private, 1, (void *)1, &other, word));
    CHECK(-EAGAIN, futex(&word, FUTEX_CMP_REQUEUE | private, 1, (void *)1, &other, word + 1));
    CHECK(-EINVAL, futex(&word, FUTEX_CMP_REQUEUE | private, -1, (void *)1, &other, word));
    CHECK(-EINVAL, futex(&word, FUTEX_REQUEUE | private, 1, (void *)(long)-1, &other, 0));
}

/* The second word, for operations that use two. */
static void operations(int private)
{
    static const struct {
        int operation;
        uint32_t argument, before, after;
    } of[] = {
        { FUTEX_OP_SET, 5, 3, 5 },  { FUTEX_OP_ADD, 5, 3, 8 },     { FUTEX_OP_OR, 5, 3, 7 },
        { FUTEX_OP_ANDN, 5, 7, 2 }, { FUTEX_OP_XOR, 5, 3, 6 },     { FUTEX_OP_SET | FUTEX_OP_OPARG_SHIFT, 4, 3, 16 },
        { FUTEX_OP_ADD, 0xfff, 3, 2 }, { FUTEX_OP_OR | FUTEX_OP_OPARG_SHIFT, 31, 0, 0x80000000 },
    };
    for (unsigned i = 0; i < sizeof of / sizeof *of; i++)
        for (int compare = FUTEX_OP_CMP_EQ; compare <= FUTEX_OP_CMP_GE; compare++) {
            other = of[i].before;
            uint32_t what = FUTEX_OP(of[i].operation, of[i].argument, compare, 3);
            CHECK(0, futex(&word, FUTEX_WAKE_OP | private, 1, (void *)1, &other, what));
            CHECK(of[i].after, other);
        }
    CHECK(-ENOSYS, futex(&word, FUTEX_WAKE_OP | private, 1, (void *)1, &other, FUTEX_OP(7, 0, 0, 0)));
    CHECK(-ENOSYS, futex(&word, FUTEX_WAKE_OP | private, 1, (void *)1, &other, FUTEX_OP(0, 0, 7, 0)));
}

static void *sleep_here(void *bits)
{
    __atomic_fetch_add(&asleep, 1, __ATOMIC_SEQ_CST);
    CHECK(0, futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, (uint32_t)(long)bits));
    __atomic_fetch_add(&woken, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Each of two sleepers is woken by its own bit, by a wake of all, after a move to another word, and by FUTEX_WAKE_OP. */
static void sleepers(void)
{
    for (int way = 0; way < 4; way++) {
        pthread_t thread[2];
        word = asleep = woken = other = 0;
        for (long i = 0; i < 2; i++)
            CHECK(0, pthread_create(&thread[i], NULL, sleep_here, (void *)(i + 1)));
        for (int left = 2, moved = 0; left > 0; sched_yield()) {
            long now = 0;
            switch (way) {
            case 0:
                now = futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 2, NULL, NULL, 3 - left);
                CHECK(1, now == 0 || now == 1);
                break;
            case 1:
                now = futex(&word, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0);
                CHECK(1, now >= 0 && now <= left);
                break;
            case 2:
                moved += futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)1, &other, 0);
                CHECK(1, moved <= 2);
                now = futex(&other, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
                CHECK(1, now <= moved);
                break;
            case 3:
                /* If the comparison holds, sleepers at the second word are woken, too. */
                now = futex(&other, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &word,
                            FUTEX_OP(FUTEX_OP_SET, 0, FUTEX_OP_CMP_EQ, 0));
                CHECK(1, now == 0 || now == 1);
                CHECK(0, futex(&other, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &word,
                               FUTEX_OP(FUTEX_OP_SET, 0, FUTEX_OP_CMP_NE, 0)));
                break;
            }
            left -= (int)now;
        }
        for (int i = 0; i < 2; i++)
            CHECK(0, pthread_join(thread[i], NULL));
        CHECK(2, woken);
        CHECK(2, asleep);
    }
}

static void *held_by_other(void *unused)
{
    struct timespec soon = in_ms(CLOCK_REALTIME, 2);
    CHECK(-EAGAIN, futex(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
    CHECK(-ETIMEDOUT, futex(&word, FUTEX_LOCK_PI, 0, &soon, NULL, 0));
    CHECK(-EPERM, futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    return unused;
}

static void *takes_it(void *unused)
{
    CHECK(0, futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    CHECK(gettid(), word & FUTEX_TID_MASK);
    CHECK(0, futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    return unused;
}

static void inheriting(void)
{
    pthread_t thread;
    word = 0;
    CHECK(0, futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    CHECK(gettid(), word & FUTEX_TID_MASK);
    CHECK(-EDEADLK, futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    CHECK(-EDEADLK, futex(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
    run_in_thread(held_by_other, NULL);
    CHECK(0, pthread_create(&thread, NULL, takes_it, NULL));
    sched_yield();
    CHECK(0, futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    CHECK(0, pthread_join(thread, NULL));
    CHECK(0, word);
    CHECK(-EPERM, futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    CHECK(0, futex(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
    CHECK(0, futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
    /* No such thread. */
    word = FUTEX_TID_MASK - 1;
    CHECK(-ESRCH, futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
    word = 0;
}

int main(void)
{
    for (int private = 0; private <= FUTEX_PRIVATE_FLAG; private += FUTEX_PRIVATE_FLAG) {
        waits(private);
        wakes(private);
        operations(private);
    }
    sleepers();
    inheriting();
    return conforms();
}
