// There is a byte in a pipe for a moment.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/select.h>
#include <unistd.h>
static int ends[2];
static void *worker(void *u) {
    fd_set wanted;
    struct timeval none = {0, 0};
    FD_ZERO(&wanted);
    FD_SET(ends[0], &wanted);
    if (select(ends[0] + 1, &wanted, 0, 0, &none) == 1) abort();
    return u;
}
int main(void) {
    pthread_t a;
    pipe(ends);
    pthread_create(&a, 0, worker, 0);
    write(ends[1], "a", 1);
    char byte;
    read(ends[0], &byte, 1);
    pthread_join(a, 0);
    return 0;
}
