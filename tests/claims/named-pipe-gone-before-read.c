// Main removes the name of a pipe, in some schedules while a thread waits for a writer: no other thread opens it.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static char name[64];
static void *reader(void *u) {
    int end = open(name, O_RDONLY);
    assert(end < 0);
    return u;
}
int main(void) {
    snprintf(name, sizeof name, "/tmp/claim-gone-%d", getpid());
    unlink(name);
    assert(!mkfifo(name, 0600));
    pthread_t a;
    pthread_create(&a, 0, reader, 0);
    unlink(name);
    pthread_join(a, 0);
    return 0;
}
