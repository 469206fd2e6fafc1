// A timer of the process, one that signals and one with a descriptor, all of a minute: none expires while a thread
// that waits for nothing runs.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
static void *worker(void *u) {
    sched_yield();
    return u;
}
int main(void) {
    struct itimerval own = {{0, 0}, {60, 0}};
    struct itimerspec other = {{0, 0}, {60, 0}};
    timer_t timer;
    int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    assert(setitimer(ITIMER_REAL, &own, 0) == 0);
    assert(timer_create(CLOCK_MONOTONIC, 0, &timer) == 0 && timer_settime(timer, 0, &other, 0) == 0);
    assert(timerfd_settime(descriptor, 0, &other, 0) == 0);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_join(a, 0);
    long count;
    assert(read(descriptor, &count, sizeof count) < 0);
    return 0;
}
