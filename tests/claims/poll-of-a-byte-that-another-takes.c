// A thread waits until a pipe holds a byte, which another thread can take before.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *writer(void *u) {
    write(ends[1], "x", 1);
    return u;
}
static void *reader(void *u) {
    char byte;
    read(ends[0], &byte, 1);
    return u;
}
int main(void) {
    pthread_t a, b;
    pipe(ends);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pthread_create(&a, 0, writer, 0);
    pthread_create(&b, 0, reader, 0);
    struct pollfd one = {ends[0], POLLIN, 0};
    poll(&one, 1, -1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
