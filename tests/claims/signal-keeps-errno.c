// The same, where the handler restores the error number as it was.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void handler(int n) {
    int before = errno;
    close(-1);
    errno = before;
}
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
