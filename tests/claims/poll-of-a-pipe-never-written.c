// A thread polls a pipe, ten milliseconds at a time; no thread writes to it.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *poller(void *u) {
    struct pollfd one = {ends[0], POLLIN, 0};
    while (poll(&one, 1, 10) == 0) {}
    return u;
}
int main(void) {
    pthread_t a;
    pipe(ends);
    pthread_create(&a, 0, poller, 0);
    usleep(5000);
    pthread_join(a, 0);
    return 0;
}
