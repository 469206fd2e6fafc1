// A thread reads without waiting from a pipe into which main splices a byte: it may come too early.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int from[2], to[2];
static void *reader(void *unused) {
    char byte;
    (void)unused;
    return (void *)(long)(read(to[0], &byte, 1) == 1);
}
int main(void) {
    (void)!pipe(from);
    (void)!pipe2(to, O_NONBLOCK);
    (void)!write(from[1], "a", 1);
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    (void)!splice(from[0], NULL, to[1], NULL, 1, 0);
    void *has_byte;
    pthread_join(thread, &has_byte);
    if (!has_byte)
        abort();
    return 0;
}
