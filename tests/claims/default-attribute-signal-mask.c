// glibc uses the signal mask of the default attributes for a thread that is created without any.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
static void *work(void *u) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, 0, &mask);
    assert(sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGUSR2));
    return u;
}
int main(void) {
    pthread_attr_t attr;
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_attr_init(&attr);
    pthread_attr_setsigmask_np(&attr, &mask);
    assert(!pthread_setattr_default_np(&attr));
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    pthread_join(t, 0);
    return 0;
}
