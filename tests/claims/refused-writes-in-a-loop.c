// A thread writes to a full pipe that does not wait, in a loop, until the other one reads.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static void *writer(void *unused) {
    while (write(ends[1], "x", 1) < 0) {
        if (errno != EAGAIN) {
            abort();
        }
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return unused;
}

int main(void) {
    static char page[4096];
    pthread_t thread;
    if (pipe2(ends, O_NONBLOCK) || fcntl(ends[1], F_SETPIPE_SZ, 4096) < 0) {
        return 1;
    }
    if (write(ends[1], page, sizeof page) != sizeof page) {
        abort();
    }
    pthread_create(&thread, NULL, writer, NULL);
    if (read(ends[0], page, sizeof page) != sizeof page) {
        abort();
    }
    pthread_join(thread, NULL);
    if (read(ends[0], page, sizeof page) != 1 || page[0] != 'x') {
        abort();
    }
    return 0;
}
