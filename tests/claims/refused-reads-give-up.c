// A thread tries three times to read from a pipe; main may write only after that.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static int ends[2];
static void *reader(void *u) {
    char byte;
    int found = 0;
    for (int i = 0; i < 3 && !found; i++) {
        found = read(ends[0], &byte, 1) == 1;
        if (!found) usleep(1000);
    }
    assert(found);
    return u;
}
int main(void) {
    pthread_t a;
    pipe(ends);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pthread_create(&a, 0, reader, 0);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(a, 0);
    return 0;
}
