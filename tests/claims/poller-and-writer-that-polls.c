// A thread polls a pipe, to which another writes that polls a flag itself.
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
static int ends[2];
static atomic_int go;
static void *writer(void *u) {
    while (!go) usleep(1000);
    write(ends[1], "x", 1);
    return u;
}
int main(void) {
    pthread_t a;
    struct pollfd one = {ends[0], POLLIN, 0};
    pipe(ends);
    one.fd = ends[0];
    pthread_create(&a, 0, writer, 0);
    go = 1;
    while (poll(&one, 1, 10) == 0) {}
    pthread_join(a, 0);
    return 0;
}
