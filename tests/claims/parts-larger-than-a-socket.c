// writev and sendmsg send all their parts through a stream socket, however little fits at a time, and
// MSG_WAITALL receives as much as was asked for.
#include <assert.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
enum { SIZE = 300000 };
static char data[SIZE];
static int s[2];
static void *receiver(void *u) {
    static char got[SIZE];
    for (int i = 0; i < 2; i++) {
        assert(recv(s[0], got, SIZE, MSG_WAITALL) == SIZE);
        assert(got[0] == 'a' && got[SIZE - 1] == 'z');
    }
    return u;
}
int main(void) {
    data[0] = 'a';
    data[SIZE - 1] = 'z';
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    pthread_t t;
    pthread_create(&t, 0, receiver, 0);
    struct iovec parts[] = {{data, 1000}, {data + 1000, 0}, {data + 1000, SIZE - 1000}};
    assert(writev(s[1], parts, 3) == SIZE);
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
    assert(sendmsg(s[1], &message, 0) == SIZE);
    pthread_join(t, 0);
    return 0;
}
