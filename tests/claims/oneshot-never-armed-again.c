#include "two_threads.h"

static int watcher, pipe_ends[2];

static void *take(void *unused) {
    struct epoll_event event;
    char byte;
    assert(epoll_wait(watcher, &event, 1, -1) == 1);
    assert(read(pipe_ends[0], &byte, 1) == 1);
    return unused;
}

int main(void) {
    watcher = epoll_create1(0);
    assert(pipe2(pipe_ends, O_NONBLOCK) == 0);
    struct epoll_event once = {.events = EPOLLIN | EPOLLONESHOT};
    epoll_ctl(watcher, EPOLL_CTL_ADD, pipe_ends[0], &once);
    assert(write(pipe_ends[1], "ab", 2) == 2);
    go(take, take);
}
