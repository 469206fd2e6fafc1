// The handler runs in a thread that prints nothing: the printing thread is another one.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static sigset_t set;
static void handler(int n) { printf("signal %d\n", n); }
static void *worker(void *u) {
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    return u;
}
int main(void) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    signal(SIGUSR1, handler);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    printf("sent\n");
    pthread_join(a, 0);
    return 0;
}
