// A duplicate of one end of a pair of sockets is closed; what is written to the other end is read or not.
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
static int ends[2], other;
static void *reader(void *u) {
    char byte;
    if (recv(other, &byte, 1, MSG_DONTWAIT) != 1) abort();
    return u;
}
int main(void) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 3;
    other = dup(ends[1]);
    pthread_t a;
    pthread_create(&a, 0, reader, 0);
    write(ends[0], "x", 1);
    close(ends[0]);
    close(ends[1]);
    pthread_join(a, 0);
    return 0;
}
