// Thread and handler both allocate, but the signal arrives only while the thread waits in sigsuspend.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static sigset_t none, set;
static void *volatile kept;
static void handler(int n) { kept = malloc(16); }
static void *worker(void *u) {
    void *mine = malloc(100);
    sigsuspend(&none);
    free(mine);
    free(kept);
    return u;
}
int main(void) {
    sigemptyset(&none);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    signal(SIGUSR1, handler);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, 0);
    return 0;
}
