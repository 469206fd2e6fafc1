// A thread polls a pipe, ten milliseconds at a time, until main has written to it after a while.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *poller(void *u) {
    struct pollfd one = {ends[0], POLLIN, 0};
    char byte = 0;
    while (poll(&one, 1, 10) == 0) {}
    assert(read(ends[0], &byte, 1) == 1 && byte == 'x');
    return u;
}
int main(void) {
    pthread_t a;
    pipe(ends);
    pthread_create(&a, 0, poller, 0);
    usleep(5000);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(a, 0);
    return 0;
}
