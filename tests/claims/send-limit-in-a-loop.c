// A thread sends, twenty milliseconds at a time, until main has made room in the full socket.
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
static int ends[2];
static char page[4096], much[1 << 16];
static void *sender(void *u) {
    while (send(ends[0], "x", 1, 0) != 1) {}
    return u;
}
int main(void) {
    pthread_t a;
    struct timeval limit = {.tv_usec = 20000};
    assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    assert(!setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit));
    while (send(ends[0], page, sizeof page, MSG_DONTWAIT) > 0) {}
    pthread_create(&a, 0, sender, 0);
    assert(recv(ends[1], much, sizeof much, 0) > 0);
    pthread_join(a, 0);
    return 0;
}
