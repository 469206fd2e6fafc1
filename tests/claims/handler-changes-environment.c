// A handler changes the environment while the thread that it interrupts may read it.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
static void handler(int n) { setenv("MODE", "1", 1); }
static void *worker(void *u) {
    getenv("MODE");
    return u;
}
int main(void) {
    signal(SIGUSR1, handler);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, 0);
    return 0;
}
