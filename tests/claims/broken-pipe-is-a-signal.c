// The thread that writes to a pipe without a reader gets SIGPIPE, and then the error.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
static int p[2], s[2];
static pthread_t writer;
static int count;
static void handler(int signal) {
    (void)signal;
    assert(pthread_equal(pthread_self(), writer));
    count++;
}
static void *write_both(void *u) {
    writer = pthread_self();
    assert(write(p[1], "x", 1) == -1 && errno == EPIPE && count == 1);
    assert(send(s[1], "x", 1, 0) == -1 && errno == EPIPE && count == 2);
    assert(send(s[1], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE && count == 2);
    return u;
}
int main(void) {
    signal(SIGPIPE, handler);
    pipe(p);
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    close(p[0]);
    close(s[0]);
    pthread_t t;
    pthread_create(&t, 0, write_both, 0);
    pthread_join(t, 0);
    return 0;
}
