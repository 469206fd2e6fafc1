// Threads ask, without waiting, whether a pipe has data, until it has.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static int p[2], q[2];
static void *poller(void *u) {
    struct pollfd one = {p[0], POLLIN, 0};
    while (poll(&one, 1, 0) == 0) {}
    return u;
}
static void *reader(void *u) {
    char c;
    while (read(q[0], &c, 1) != 1) {}
    return u;
}
int main(void) {
    pipe(p);
    pipe(q);
    fcntl(q[0], F_SETFL, O_NONBLOCK);
    pthread_t t[2];
    pthread_create(&t[0], 0, poller, 0);
    pthread_create(&t[1], 0, reader, 0);
    write(p[1], "x", 1);
    write(q[1], "x", 1);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}
