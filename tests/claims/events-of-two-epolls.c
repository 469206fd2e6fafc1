#include "two_threads.h"

static int watchers[2], pipes[2][2];

static void take(int number) {
    struct epoll_event event;
    char byte;
    assert(epoll_wait(watchers[number], &event, 1, -1) == 1);
    assert(read(pipes[number][0], &byte, 1) == 1);
}

static void *take_first(void *unused) {
    take(0);
    return unused;
}

static void *take_second(void *unused) {
    take(1);
    return unused;
}

int main(void) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};
    for (int number = 0; number < 2; number++) {
        watchers[number] = epoll_create1(0);
        assert(pipe(pipes[number]) == 0);
        epoll_ctl(watchers[number], EPOLL_CTL_ADD, pipes[number][0], &event);
        assert(write(pipes[number][1], "a", 1) == 1);
    }
    go(take_first, take_second);
}
