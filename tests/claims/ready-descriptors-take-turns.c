#include "two_threads.h"

static int watcher, first[2], other[2], second_saw;

static int wait_for_one(void) {
    struct epoll_event event;
    assert(epoll_wait(watcher, &event, 1, -1) == 1);
    return event.data.fd;
}

static void *look(void *unused) {
    wait_for_one();
    return unused;
}

static void *look_and_tell(void *unused) {
    second_saw = wait_for_one();
    return unused;
}

int main(void) {
    watcher = epoll_create1(0);
    assert(pipe(first) == 0 && pipe(other) == 0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = first[0]};
    epoll_ctl(watcher, EPOLL_CTL_ADD, first[0], &event);
    event.data.fd = other[0];
    epoll_ctl(watcher, EPOLL_CTL_ADD, other[0], &event);
    assert(write(first[1], "a", 1) == 1 && write(other[1], "b", 1) == 1);
    go(look, look_and_tell);
    assert(second_saw == other[0]);
}
