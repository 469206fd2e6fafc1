// A timer's descriptor counts, and no thread reads it: main waits for a thread that no thread will wake.
#include <pthread.h>
#include <sys/timerfd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void *waiter(void *u) {
    pthread_mutex_lock(&m);
    while (!ready)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return u;
}
int main(void) {
    struct itimerspec every = {{0, 10000000}, {0, 10000000}};
    pthread_t a;
    timerfd_settime(timerfd_create(CLOCK_MONOTONIC, 0), 0, &every, 0);
    pthread_create(&a, 0, waiter, 0);
    pthread_join(a, 0);
    return 0;
}
