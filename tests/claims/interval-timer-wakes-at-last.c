// A handler of an interval timer ends the wait of main at its 300th signal.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
static volatile sig_atomic_t ticks;
static sem_t enough;
static void count(int signal) {
    (void)signal;
    if (++ticks == 300)
        sem_post(&enough);
}
static void *waiter(void *u) {
    while (sem_wait(&enough) != 0)
        ;
    return u;
}
int main(void) {
    struct itimerval every = {{0, 10000}, {0, 10000}}, none = {{0, 0}, {0, 0}};
    sigset_t alarms;
    pthread_t a;
    sem_init(&enough, 0, 0);
    signal(SIGALRM, count);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, 0);
    pthread_create(&a, 0, waiter, 0);
    pthread_sigmask(SIG_UNBLOCK, &alarms, 0);
    setitimer(ITIMER_REAL, &every, 0);
    pthread_join(a, 0);
    setitimer(ITIMER_REAL, &none, 0);
    return 0;
}
