// An event counter is above zero for a moment.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int event;
static void *worker(void *u) {
    struct pollfd wanted = {event, POLLIN, 0};
    if (poll(&wanted, 1, 0) == 1) abort();
    return u;
}
int main(void) {
    pthread_t a;
    event = eventfd(0, 0);
    pthread_create(&a, 0, worker, 0);
    eventfd_write(event, 1);
    eventfd_t value;
    eventfd_read(event, &value);
    pthread_join(a, 0);
    return 0;
}
