// SO_RCVTIMEO limits the wait for something that no thread sends: the call ends, and nothing waits forever.
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
int main(void) {
    int ends[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 3;
    struct timeval limit = {.tv_sec = 1};
    if (setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit)) return 3;
    if (recv(ends[0], &byte, 1, 0) != -1 || errno != EAGAIN) abort();
    return 0;
}
