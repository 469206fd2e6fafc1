// A handler makes a call that fails, between another call that fails and the look at its error number.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void handler(int n) { close(-1); }
static void *worker(void *u) {
    if (open("/nonexistent", O_RDONLY) < 0 && errno != ENOENT) abort();
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
