// A read from the end of a pipe that writes, and a write to the end that reads, fail at once: they do not wait.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

static int ends[2], other[2];

static void expect(ssize_t answer) {
    if (answer != -1 || errno != EBADF) {
        abort();
    }
}

static void *wrong(void *unused) {
    char byte = 'x';
    struct iovec part = {&byte, 1};
    expect(read(ends[1], &byte, 1));
    expect(readv(ends[1], &part, 1));
    expect(write(ends[0], &byte, 1));
    expect(writev(ends[0], &part, 1));
    expect(splice(ends[1], NULL, other[1], NULL, 1, 0));
    expect(splice(ends[0], NULL, other[0], NULL, 1, 0));
    expect(tee(ends[1], other[1], 1, 0));
    return unused;
}

int main(void) {
    pthread_t thread;
    char byte;
    if (pipe(ends) || pipe(other)) {
        return 3;
    }
    pthread_create(&thread, NULL, wrong, NULL);
    if (write(ends[1], "y", 1) != 1 || read(ends[0], &byte, 1) != 1 || byte != 'y') {
        abort();
    }
    pthread_join(thread, NULL);
    return 0;
}
