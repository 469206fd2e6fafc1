// A signal's handler writes to the pipe that main reads: a read that finds the byte returns it, and is not interrupted.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];

static void handle(int number) {
    (void)number;
    if (write(ends[1], "x", 1) != 1) {
        abort();
    }
}

static void *sender(void *unused) {
    kill(getpid(), SIGUSR1);
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_handler = handle};
    pthread_t thread;
    char byte;
    ssize_t count;
    if (pipe(ends) || sigaction(SIGUSR1, &action, NULL)) {
        return 3;
    }
    pthread_create(&thread, NULL, sender, NULL);
    while ((count = read(ends[0], &byte, 1)) < 0) {
        if (errno != EINTR) {
            abort();
        }
    }
    pthread_join(thread, NULL);
    if (count != 1) {
        abort();
    }
    return 0;
}
