// A thread polls two pipes without waiting: it can find the one that is written later and not the other.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2][2];
static void *writer(void *which) {
    assert(write(*(int *)which, "x", 1) == 1);
    return 0;
}
int main(void) {
    pthread_t a, b;
    struct pollfd both[2] = {{0, POLLIN, 0}, {0, POLLIN, 0}};
    for (int i = 0; i < 2; i++) {
        pipe(ends[i]);
        both[i].fd = ends[i][0];
    }
    pthread_create(&a, 0, writer, &ends[0][1]);
    pthread_create(&b, 0, writer, &ends[1][1]);
    poll(both, 2, 0);
    assert(both[0].revents || !both[1].revents);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
