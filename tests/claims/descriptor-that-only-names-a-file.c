// A descriptor that only names a file (O_PATH) allows neither reading nor writing: the calls fail at once.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2], name;

static void *wrong(void *unused) {
    char byte = 'x';
    if (read(name, &byte, 1) != -1 || errno != EBADF || write(name, &byte, 1) != -1 || errno != EBADF) {
        abort();
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    char path[64];
    if (pipe(ends)) {
        return 3;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    name = open(path, O_PATH);
    if (name < 0) {
        return 3;
    }
    pthread_create(&thread, NULL, wrong, NULL);
    pthread_join(thread, NULL);
    return 0;
}
