// A thread waits for a pipe by select, ten milliseconds at a time, until main has written to it.
#include <pthread.h>
#include <sys/select.h>
#include <unistd.h>
static int ends[2];
static void *poller(void *u) {
    for (;;) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        struct timeval limit = {0, 10000};
        if (select(ends[0] + 1, &set, 0, 0, &limit) == 1) return u;
    }
}
int main(void) {
    pthread_t a;
    pipe(ends);
    pthread_create(&a, 0, poller, 0);
    write(ends[1], "x", 1);
    pthread_join(a, 0);
    return 0;
}
