#include "two_threads.h"

static int watcher, pipe_ends[2];
static struct epoll_event once = {.events = EPOLLIN | EPOLLONESHOT};

static void *take(void *unused) {
    struct epoll_event event;
    if (epoll_wait(watcher, &event, 1, 100) == 1) {
        char byte;
        epoll_ctl(watcher, EPOLL_CTL_MOD, pipe_ends[0], &once);
        assert(read(pipe_ends[0], &byte, 1) == 1);
    }
    return unused;
}

int main(void) {
    watcher = epoll_create1(0);
    assert(pipe2(pipe_ends, O_NONBLOCK) == 0);
    epoll_ctl(watcher, EPOLL_CTL_ADD, pipe_ends[0], &once);
    assert(write(pipe_ends[1], "a", 1) == 1);
    go(take, take);
}
