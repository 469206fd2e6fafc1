// Limits of a socket with negative seconds have passed: calls that would wait return at once.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#define FAILS(error, call) assert((call) == -1 && errno == (error))
static char much[1 << 20];
static void *idle(void *u) { return u; }
int main(void) {
    pthread_t a;
    int ends[2];
    char byte;
    struct timeval past = {.tv_sec = -1}, wrong = {.tv_usec = 1000000};
    pthread_create(&a, 0, idle, 0);
    assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    FAILS(EDOM, setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &wrong, sizeof wrong));
    assert(!setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &past, sizeof past));
    assert(!setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &past, sizeof past));
    FAILS(EAGAIN, recv(ends[0], &byte, 1, 0));
    ssize_t sent = send(ends[0], much, sizeof much, 0);
    assert(sent > 0 && sent < (ssize_t)sizeof much);
    FAILS(EAGAIN, send(ends[0], much, sizeof much, 0));
    pthread_join(a, 0);
    return 0;
}
