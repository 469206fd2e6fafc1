// A thread reads from a pipe without waiting, a millisecond apart, until main has written to it after a while.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *reader(void *u) {
    char byte = 0;
    while (read(ends[0], &byte, 1) != 1) usleep(1000);
    assert(byte == 'x');
    return u;
}
int main(void) {
    pthread_t a;
    pipe(ends);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pthread_create(&a, 0, reader, 0);
    usleep(5000);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(a, 0);
    return 0;
}
