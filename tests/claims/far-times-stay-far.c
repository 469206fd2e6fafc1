// Times that no clock reaches do not come, also where they are added to the present time.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
static volatile int alarms;
static int word;
static void count(int signal) {
    (void)signal;
    alarms++;
}
static void *wake(void *u) {
    sleep(5);
    __atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
    return u;
}
int main(void) {
    pthread_t thread;
    struct itimerval far = { { 0, 0 }, { LONG_MAX, 999999 } }, once = { { LONG_MAX, 0 }, { 0, 1 } }, left;
    struct timespec longest = { LONG_MAX, 999999999 };
    sleep(2);
    signal(SIGALRM, count);
    assert(setitimer(ITIMER_REAL, &far, 0) == 0);
    assert(getitimer(ITIMER_REAL, &left) == 0 && left.it_value.tv_sec > INT_MAX);
    assert(setitimer(ITIMER_REAL, &once, 0) == 0);
    while (sleep(3))
        ;
    assert(alarms == 1);
    assert(getitimer(ITIMER_REAL, &left) == 0 && left.it_value.tv_sec > INT_MAX);
    int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec twice = { { LONG_MAX, 0 }, { 0, 1 } };
    unsigned long times;
    assert(timerfd_settime(descriptor, 0, &twice, 0) == 0);
    sleep(3);
    assert(read(descriptor, &times, sizeof times) == sizeof times && times == 1);
    assert(read(descriptor, &times, sizeof times) == -1 && errno == EAGAIN);
    pthread_create(&thread, 0, wake, 0);
    while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
        assert(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &longest, 0, 0) == 0 || errno == EAGAIN || errno == EINTR);
    pthread_join(thread, 0);
    assert(ualarm(1000000, 0) == (unsigned)-1 && errno == EINVAL);
    return 0;
}
