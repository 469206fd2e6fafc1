// Main passes a descriptor in a message that a thread closes: the call may fail with EBADF.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static int ends[2], passed;
static void *closer(void *unused) {
    close(passed);
    return unused;
}
int main(void) {
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    passed = open("/dev/null", O_RDONLY);
    pthread_t thread;
    pthread_create(&thread, NULL, closer, NULL);
    char byte = 'x', control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &passed, sizeof passed);
    ssize_t sent = sendmsg(ends[0], &message, 0);
    pthread_join(thread, NULL);
    if (sent < 0)
        abort();
    return 0;
}
