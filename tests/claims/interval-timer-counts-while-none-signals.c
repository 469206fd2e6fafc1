// A timer expires again and again and counts, while main waits for a thread that no thread will wake.
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
static volatile sig_atomic_t ticks;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void count(int signal) {
    (void)signal;
    ticks++;
}
static void *waiter(void *u) {
    pthread_mutex_lock(&m);
    while (!ready)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return u;
}
int main(void) {
    struct itimerval every = {{0, 10000}, {0, 10000}};
    pthread_t a;
    signal(SIGALRM, count);
    setitimer(ITIMER_REAL, &every, 0);
    pthread_create(&a, 0, waiter, 0);
    pthread_join(a, 0);
    return 0;
}
