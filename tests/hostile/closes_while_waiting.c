/* A thread waits in the call that the argument names, main closes its descriptor, and then lets happen what the
   thread waits for. The call succeeds: the wait keeps the file open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int waited, other, list;
static const char *way;
static struct sockaddr_un address = { .sun_family = AF_UNIX };

static int is(const char *name)
{
    return !strcmp(way, name);
}

static int connect_to(int flags)
{
    int one = socket(AF_UNIX, SOCK_STREAM | flags, 0);
    return connect(one, (struct sockaddr *)&address, sizeof address) < 0 ? -1 : one;
}

static void *wait_for_it(void *unused)
{
    char bytes[8];
    long result = -1;
    struct pollfd one = { waited, POLLIN, 0 };
    struct epoll_event event;
    if (is("read") || is("event"))
        result = read(waited, bytes, sizeof bytes);
    else if (is("receive"))
        result = recv(waited, bytes, sizeof bytes, 0);
    else if (is("poll"))
        result = poll(&one, 1, -1);
    else if (is("select")) {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(waited, &set);
        result = select(waited + 1, &set, NULL, NULL, NULL);
    } else if (is("epoll"))
        result = epoll_wait(waited, &event, 1, -1);
    else if (is("accept"))
        result = accept(waited, NULL, NULL);
    else if (is("connect"))
        result = connect(waited, (struct sockaddr *)&address, sizeof address);
    else if (is("flock"))
        result = flock(waited, LOCK_EX);
    if (result < 0)
        abort();
    return unused;
}

static void prepare(void)
{
    int pair[2];
    if (is("receive"))
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    else
        pipe(pair);
    waited = pair[0];
    other = pair[1];
    if (is("event")) {
        waited = eventfd(0, 0);
        other = dup(waited);
    } else if (is("epoll")) {
        struct epoll_event event = { .events = EPOLLIN };
        list = epoll_create1(0);
        epoll_ctl(list, EPOLL_CTL_ADD, waited, &event);
        waited = list;
    } else if (is("accept") || is("connect")) {
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "heddle-closes-%d", getpid());
        waited = other = socket(AF_UNIX, SOCK_STREAM, 0);
        bind(waited, (struct sockaddr *)&address, sizeof address);
        listen(waited, 0);
        if (is("connect")) {
            while (connect_to(SOCK_NONBLOCK) >= 0)
                ;
            waited = socket(AF_UNIX, SOCK_STREAM, 0);
        }
    } else if (is("flock")) {
        waited = open("locked", O_CREAT | O_RDWR, 0600);
        other = open("locked", O_RDWR);
        flock(other, LOCK_EX);
    }
}

int main(int count, char **arguments)
{
    pthread_t thread;
    uint64_t number = 1;
    if (count < 2)
        return 64;
    way = arguments[1];
    prepare();
    pthread_create(&thread, NULL, wait_for_it, NULL);
    sleep(2);
    close(waited);
    sleep(2);
    if (is("accept"))
        connect_to(0);
    else if (is("connect"))
        accept(other, NULL, NULL);
    else if (is("flock"))
        flock(other, LOCK_UN);
    else
        write(other, &number, sizeof number);
    pthread_join(thread, NULL);
    return 0;
}
