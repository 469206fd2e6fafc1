// The same through a pair of sockets: what a read returns depends on what was written to the other end.
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
static int ends[2];
static void *writer(void *u) {
    if (write(ends[1], "a", 1) != 1 || write(ends[1], "b", 1) != 1) exit(3);
    return u;
}
int main(void) {
    char bytes[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 3;
    pthread_t a;
    pthread_create(&a, 0, writer, 0);
    if (read(ends[0], bytes, 2) != 2) abort();
    pthread_join(a, 0);
    return 0;
}
