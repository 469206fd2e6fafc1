// A thread reads from a pipe whose name is gone, through a descriptor that keeps a writing end open.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static int both;
static void *reader(void *u) {
    char byte;
    (void)!read(both, &byte, 1);
    return u;
}
int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/tmp/claim-unwritten-%d", getpid());
    unlink(name);
    assert(!mkfifo(name, 0600));
    both = open(name, O_RDWR);
    assert(both >= 0);
    unlink(name);
    pthread_t a;
    pthread_create(&a, 0, reader, 0);
    pthread_join(a, 0);
    return 0;
}
