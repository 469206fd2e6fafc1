// A thread waits for a signal, twenty milliseconds at a time, that main does not send.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static sigset_t set;
static void *waiter(void *u) {
    struct timespec limit = {.tv_nsec = 20000000};
    while (sigtimedwait(&set, 0, &limit) != SIGUSR1) {}
    return u;
}
int main(void) {
    pthread_t a;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&a, 0, waiter, 0);
    pthread_join(a, 0);
    return 0;
}
