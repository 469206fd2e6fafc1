// epoll_wait fills an event that main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
static struct epoll_event events[2];
static int ends[2], set;
static void *worker(void *u) {
    epoll_wait(set, events, 2, 0);
    return u;
}
int main(void) {
    if (pipe(ends) || write(ends[1], "a", 1) != 1) return 0;
    struct epoll_event wanted = {.events = EPOLLIN};
    set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &wanted);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int before = *(volatile int *)&events[0].events, after = *(volatile int *)&events[0].events;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
