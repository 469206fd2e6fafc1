// Main polls a timer, ten milliseconds at a time, until it has expired or the thread is done.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/timerfd.h>
#include <unistd.h>
static atomic_int done;
static void *worker(void *u) {
    usleep(50000);
    done = 1;
    return u;
}
int main(void) {
    pthread_t a;
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec after = {.it_value = {.tv_nsec = 30000000}};
    assert(!timerfd_settime(timer, 0, &after, 0));
    pthread_create(&a, 0, worker, 0);
    struct pollfd one = {timer, POLLIN, 0};
    while (poll(&one, 1, 10) == 0 && !done) {}
    pthread_join(a, 0);
    return 0;
}
