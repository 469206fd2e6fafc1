// Two threads read from one pipe that does not wait, each in a loop.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static char take(void) {
    char byte;
    while (read(ends[0], &byte, 1) < 0) {
        if (errno != EAGAIN) {
            abort();
        }
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return byte;
}

static void *first(void *unused) {
    write(ends[1], "x", 1);
    return unused;
}

static void *second(void *unused) {
    take();
    write(ends[1], "y", 1);
    return unused;
}

int main(void) {
    pthread_t one, two;
    if (pipe2(ends, O_NONBLOCK)) {
        return 1;
    }
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&two, NULL, second, NULL);
    char byte = take();
    if (byte != 'x' && byte != 'y') {
        abort();
    }
    pthread_join(one, NULL);
    return 0;
}
