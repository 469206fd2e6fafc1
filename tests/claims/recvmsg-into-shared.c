// recvmsg fills a buffer that main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
static char text[4];
static int ends[2];
static void *worker(void *u) {
    struct iovec buffer = {text, 1};
    struct msghdr message = {.msg_iov = &buffer, .msg_iovlen = 1};
    recvmsg(ends[0], &message, 0);
    return u;
}
int main(void) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || write(ends[1], "a", 1) != 1) return 0;
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char before = *(volatile char *)&text[0], after = *(volatile char *)&text[0];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
