// A loop looks at a flag with the signal blocked and waits by sigsuspend: no signal is missed.
#include <pthread.h>
#include <signal.h>
static volatile sig_atomic_t stop;
static pthread_t waiter;
static void handler(int n) { stop = 1; }
static void *sender(void *u) {
    pthread_kill(waiter, SIGUSR1);
    return u;
}
int main(void) {
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    signal(SIGUSR1, handler);
    waiter = pthread_self();
    pthread_t a;
    pthread_create(&a, 0, sender, 0);
    while (!stop) sigsuspend(&old);
    pthread_join(a, 0);
    return 0;
}
