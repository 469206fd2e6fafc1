// A thread waits for an event counter by epoll, ten milliseconds at a time, until main has written to it.
#include <assert.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int counter, epoll;
static void *poller(void *u) {
    struct epoll_event event;
    eventfd_t count;
    while (epoll_wait(epoll, &event, 1, 10) == 0) {}
    assert(eventfd_read(counter, &count) == 0 && count == 3);
    return u;
}
int main(void) {
    pthread_t a;
    counter = eventfd(0, 0);
    epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {0}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, counter, &event);
    pthread_create(&a, 0, poller, 0);
    usleep(3000);
    eventfd_write(counter, 3);
    pthread_join(a, 0);
    return 0;
}
