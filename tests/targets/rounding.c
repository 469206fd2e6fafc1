/* The rounding mode belongs to a thread: a new thread inherits it, and changes affect only the thread itself. */
#include <assert.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>

static volatile double one = 1.0, three = 3.0;
static volatile long double long_one = 1.0L, long_three = 3.0L;
static double down, up;

static void *upward(void *unused)
{
    (void)unused;
    assert(fegetround() == FE_DOWNWARD);
    assert(fesetround(FE_UPWARD) == 0);
    for (int i = 0; i < 2; i++) {
        sched_yield();
        assert(fegetround() == FE_UPWARD);
        assert(one / three == up);
        /* The x87 unit has a separate rounding mode. */
        assert(long_one / long_three * long_three > long_one);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    fesetround(FE_UPWARD);
    up = one / three;
    fesetround(FE_DOWNWARD);
    down = one / three;
    assert(down < up);
    pthread_create(&thread, NULL, upward, NULL);
    for (int i = 0; i < 2; i++) {
        sched_yield();
        assert(fegetround() == FE_DOWNWARD);
        assert(one / three == down);
        assert(long_one / long_three * long_three < long_one);
    }
    pthread_join(thread, NULL);
    assert(fegetround() == FE_DOWNWARD);
    puts("no mode leaked");
    return 0;
}
