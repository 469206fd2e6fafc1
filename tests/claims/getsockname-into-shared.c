// getsockname fills an address that main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
static struct sockaddr name;
static int end;
static socklen_t size = sizeof name;
static void *worker(void *u) {
    getsockname(end, &name, &size);
    return u;
}
int main(void) {
    end = socket(AF_UNIX, SOCK_STREAM, 0);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    short before = *(volatile short *)&name.sa_family, after = *(volatile short *)&name.sa_family;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
