// poll sets the result of its second descriptor, which main reads twice: the two can differ.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static struct pollfd polled[2];
static int ends[2];
static void *worker(void *u) {
    poll(polled, 2, 0);
    return u;
}
int main(void) {
    if (pipe(ends) || write(ends[1], "a", 1) != 1) return 0;
    polled[0].fd = -1;
    polled[1] = (struct pollfd){.fd = ends[0], .events = POLLIN};
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    short before = *(volatile short *)&polled[1].revents, after = *(volatile short *)&polled[1].revents;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
