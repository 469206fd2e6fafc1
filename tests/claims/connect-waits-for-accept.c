// connect waits while the listener's queue is full.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static int listener;
static void *acceptor(void *u) {
    for (int i = 0; i < 3; i++) assert(accept(listener, 0, 0) >= 0);
    return u;
}
int main(void) {
    struct sockaddr_un name = {AF_UNIX, ""};
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "claim-%d", getpid());
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert(!bind(listener, (struct sockaddr *)&name, sizeof name));
    listen(listener, 0);
    pthread_t t;
    pthread_create(&t, 0, acceptor, 0);
    for (int i = 0; i < 3; i++) {
        int s = socket(AF_UNIX, SOCK_STREAM, 0);
        assert(!connect(s, (struct sockaddr *)&name, sizeof name));
    }
    pthread_join(t, 0);
    return 0;
}
