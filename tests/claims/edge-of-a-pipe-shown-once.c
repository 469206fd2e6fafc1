#include "two_threads.h"

static int watcher, pipe_ends[2];
static _Atomic int shown;

static void *look(void *unused) {
    struct epoll_event event;
    if (epoll_wait(watcher, &event, 1, 100) == 1) shown++;
    return unused;
}

int main(void) {
    watcher = epoll_create1(0);
    assert(pipe2(pipe_ends, O_NONBLOCK) == 0);
    struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
    epoll_ctl(watcher, EPOLL_CTL_ADD, pipe_ends[0], &edge);
    assert(write(pipe_ends[1], "a", 1) == 1);
    go(look, look);
    assert(shown == 1);
}
