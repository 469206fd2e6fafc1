// Main accepts without waiting, again and again, until the thread has connected.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t size;
static void *client(void *u) {
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    usleep(2000);
    assert(!connect(end, (void *)&address, size));
    return u;
}
int main(void) {
    pthread_t a;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int len = snprintf(address.sun_path + 1, 64, "accept-in-a-loop-%d", (int)getpid());
    size = offsetof(struct sockaddr_un, sun_path) + 1 + len;
    assert(!bind(listener, (void *)&address, size) && !listen(listener, 4));
    pthread_create(&a, 0, client, 0);
    while (accept(listener, 0, 0) < 0)
        usleep(1000);
    pthread_join(a, 0);
    return 0;
}
