// Main adds a descriptor to an epoll instance that a thread closes: the call may fail with EBADF.
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
static int ends[2];
static void *closer(void *unused) {
    close(ends[0]);
    return unused;
}
int main(void) {
    (void)!pipe(ends);
    int epoll = epoll_create1(0);
    pthread_t thread;
    pthread_create(&thread, NULL, closer, NULL);
    struct epoll_event event = {.events = EPOLLIN};
    int failed = epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
    pthread_join(thread, NULL);
    if (failed)
        abort();
    return 0;
}
