// A thread polls a pipe three times; main may write only after that.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *poller(void *u) {
    struct pollfd one = {ends[0], POLLIN, 0};
    int found = 0;
    for (int i = 0; i < 3 && !found; i++) found = poll(&one, 1, 10);
    assert(found == 1);
    return u;
}
int main(void) {
    pthread_t a;
    pipe(ends);
    pthread_create(&a, 0, poller, 0);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(a, 0);
    return 0;
}
