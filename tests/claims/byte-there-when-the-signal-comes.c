// The byte is in the pipe before the signal can come, so the read returns it and is never interrupted.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int ends[2];

static void handle(int number) {
    (void)number;
}

static void *sender(void *unused) {
    kill(getpid(), SIGUSR1);
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_handler = handle};
    pthread_t thread;
    char byte;
    if (pipe(ends) || sigaction(SIGUSR1, &action, NULL) || write(ends[1], "x", 1) != 1) {
        return 3;
    }
    pthread_create(&thread, NULL, sender, NULL);
    if (read(ends[0], &byte, 1) != 1) {
        abort();
    }
    pthread_join(thread, NULL);
    return 0;
}
