// recvmmsg waits until all messages are there, sendmmsg until there is room for all.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
enum { COUNT = 32, SIZE = 20000 };
static int s[2];
static void prepare(struct mmsghdr *messages, struct iovec *parts, char *data) {
    for (int i = 0; i < COUNT; i++) {
        parts[i] = (struct iovec){data, SIZE};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    }
}
static void *receiver(void *u) {
    static struct mmsghdr messages[COUNT];
    static struct iovec parts[COUNT];
    static char data[SIZE];
    prepare(messages, parts, data);
    assert(recvmmsg(s[0], messages, COUNT, 0, 0) == COUNT);
    for (int i = 0; i < COUNT; i++) assert(messages[i].msg_len == SIZE);
    return u;
}
int main(void) {
    static struct mmsghdr messages[COUNT];
    static struct iovec parts[COUNT];
    static char data[SIZE];
    prepare(messages, parts, data);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
    pthread_t t;
    pthread_create(&t, 0, receiver, 0);
    assert(sendmmsg(s[1], messages, COUNT, 0) == COUNT);
    pthread_join(t, 0);
    return 0;
}
