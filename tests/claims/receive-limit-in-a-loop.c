// A thread receives, twenty milliseconds at a time, until main has sent a byte.
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
static int ends[2];
static void *receiver(void *u) {
    char byte = 0;
    while (recv(ends[0], &byte, 1, 0) != 1) {}
    assert(byte == 'x');
    return u;
}
int main(void) {
    pthread_t a;
    struct timeval limit = {.tv_usec = 20000};
    assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    assert(!setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    pthread_create(&a, 0, receiver, 0);
    assert(send(ends[1], "x", 1, 0) == 1);
    pthread_join(a, 0);
    return 0;
}
