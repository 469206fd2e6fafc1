#include "two_threads.h"

static int watcher, pipe_ends[2], second_saw;

static void *look(void *unused) {
    struct epoll_event event;
    epoll_wait(watcher, &event, 1, 0);
    return unused;
}

static void *look_and_tell(void *unused) {
    struct epoll_event event;
    second_saw = epoll_wait(watcher, &event, 1, 0);
    return unused;
}

int main(void) {
    watcher = epoll_create1(0);
    assert(pipe2(pipe_ends, O_NONBLOCK) == 0);
    struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
    epoll_ctl(watcher, EPOLL_CTL_ADD, pipe_ends[0], &edge);
    assert(write(pipe_ends[1], "a", 1) == 1);
    go(look, look_and_tell);
    assert(second_saw == 1);
}
