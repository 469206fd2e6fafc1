// glibc: recvmmsg and sendmmsg are cancellation points.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
static int s[2];
static char data[20000];
static struct iovec part = {data, sizeof data};
static void *receive(void *u) {
    struct mmsghdr message = {{.msg_iov = &part, .msg_iovlen = 1}};
    recvmmsg(s[0], &message, 1, 0, 0);
    abort();
    return u;
}
static void *send_many(void *u) {
    struct mmsghdr message = {{.msg_iov = &part, .msg_iovlen = 1}};
    for (;;) sendmmsg(s[0], &message, 1, 0);
    return u;
}
int main(void) {
    socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
    void *(*routines[])(void *) = {receive, send_many};
    for (int i = 0; i < 2; i++) {
        pthread_t t;
        void *result;
        pthread_create(&t, 0, routines[i], 0);
        pthread_cancel(t);
        pthread_join(t, &result);
        assert(result == PTHREAD_CANCELED);
    }
    return 0;
}
