/* Two descriptors of one open file. A thread changes it through one, and changes it back, while main looks at it through
   the other; main aborts if it meets the change. The argument chooses the case. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static int event, early, ends[2], fd, other;

/* Before main begins. */
__attribute__((constructor)) static void duplicate(void)
{
    event = eventfd(0, EFD_NONBLOCK);
    early = dup(event);
}

static void need(int holds)
{
    if (!holds)
        exit(3);
}

static void before_main(void)
{
    fd = event;
    other = early;
}

static void received(void)
{
    int pair[2];
    fd = eventfd(0, EFD_NONBLOCK);
    need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    char byte = 0, control[CMSG_SPACE(sizeof fd)] = "";
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    need(sendmsg(pair[0], &message, 0) == 1 && recvmsg(pair[1], &message, 0) == 1);
    memcpy(&other, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof other);
}

static void reopened(void)
{
    char path[32];
    need(pipe2(ends, O_NONBLOCK) == 0);
    fd = ends[1];
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    other = open(path, O_RDONLY | O_NONBLOCK);
    need(other >= 0);
}

static int is_pipe;

static void *worker(void *unused)
{
    long one = 1;
    need(write(fd, &one, 8) == 8);
    need(read(is_pipe ? ends[0] : fd, &one, 8) == 8);
    return unused;
}

int main(int count, char **arguments)
{
    need(count > 1);
    is_pipe = !strcmp(arguments[1], "reopened");
    if (is_pipe)
        reopened();
    else if (!strcmp(arguments[1], "received"))
        received();
    else
        before_main();
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    struct pollfd one = {other, POLLIN, 0};
    if (poll(&one, 1, 0) == 1)
        abort();
    pthread_join(thread, NULL);
    return 0;
}
