// Opening a named pipe waits for the other end, and the descriptor waits as it was asked to.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static char name[64];
static void *writer(void *u) {
    int end = open(name, O_WRONLY);
    assert(end >= 0 && !(fcntl(end, F_GETFL) & O_NONBLOCK));
    assert(write(end, "text", 4) == 4);
    close(end);
    return u;
}
int main(void) {
    snprintf(name, sizeof name, "/tmp/claim-pipe-%d", getpid());
    unlink(name);
    assert(!mkfifo(name, 0600));
    pthread_t t;
    pthread_create(&t, 0, writer, 0);
    int end = open(name, O_RDONLY);
    assert(end >= 0 && !(fcntl(end, F_GETFL) & O_NONBLOCK));
    char got[8];
    assert(read(end, got, sizeof got) == 4);
    assert(read(end, got, sizeof got) == 0);
    pthread_join(t, 0);
    unlink(name);
    return 0;
}
