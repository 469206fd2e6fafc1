// A received descriptor has the lowest free number, which is another while the duplicate exists.
#include "two_threads.h"

static int ends[2], received = -1, lowest;

static union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr header;
} control;
static char byte = 'x';
static struct iovec buffer = {&byte, 1};
static struct msghdr message = {0, 0, &buffer, 1, control.bytes, sizeof control, 0};

static void *a(void *unused) {
    recvmsg(ends[0], &message, 0);
    received = *(int *)CMSG_DATA(CMSG_FIRSTHDR(&message));
    return unused;
}

static void *b(void *unused) {
    close(dup(0));
    return unused;
}

int main(void) {
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    *(int *)CMSG_DATA(header) = ends[0];
    sendmsg(ends[1], &message, 0);
    lowest = dup(0);
    close(lowest);
    go(a, b);
    if (received != lowest) abort();
    return 0;
}
