// The kernel reads the event when it is registered.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
static struct epoll_event wanted = {EPOLLIN, {.u32 = 1}};
static int set, event;
static void *worker(void *u) {
    struct epoll_event got;
    epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted);
    if (epoll_wait(set, &got, 1, 0) == 1 && got.data.u32 == 2) abort();
    return u;
}
int main(void) {
    pthread_t a;
    set = epoll_create1(0);
    event = eventfd(1, 0);
    pthread_create(&a, 0, worker, 0);
    *(volatile unsigned *)&wanted.data.u32 = 2;
    *(volatile unsigned *)&wanted.data.u32 = 1;
    pthread_join(a, 0);
    return 0;
}
