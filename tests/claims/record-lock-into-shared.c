// fcntl writes what it found about a lock. Main reads twice: the two can differ.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int first, second;
static void open_twice(void) {
    char name[] = "/tmp/claimXXXXXX";
    first = mkstemp(name);
    second = open(name, O_RDWR);
    unlink(name);
}
static struct flock found = {.l_type = F_WRLCK, .l_len = 1};
static void *worker(void *u) {
    fcntl(second, F_OFD_GETLK, &found);
    return u;
}
int main(void) {
    pthread_t a;
    open_twice();
    pthread_create(&a, 0, worker, 0);
    long before = (long)*(volatile __typeof__(found.l_type) *)&found.l_type;
    long after = (long)*(volatile __typeof__(found.l_type) *)&found.l_type;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
