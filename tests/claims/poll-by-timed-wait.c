// A thread waits on a condition variable that no thread signals, a millisecond at a time, until main has set
// the flag.
#include <pthread.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int flag;
static void *poller(void *u) {
    pthread_mutex_lock(&m);
    while (!flag) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += 1000000;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&c, &m, &t);
    }
    pthread_mutex_unlock(&m);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, poller, 0);
    pthread_mutex_lock(&m);
    flag = 1;
    pthread_mutex_unlock(&m);
    pthread_join(a, 0);
    return 0;
}
