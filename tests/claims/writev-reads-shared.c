// writev sends a byte that another thread changes for a moment: the byte sent can be the changed one.
#include <pthread.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
static volatile char text[1];
static void *worker(void *u) {
    text[0] = 1;
    text[0] = 0;
    return u;
}
int main(void) {
    int ends[2];
    if (pipe(ends)) return 0;
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    struct iovec buffer = {(void *)text, 1};
    writev(ends[1], &buffer, 1);
    pthread_join(a, 0);
    char sent;
    if (read(ends[0], &sent, 1) == 1 && sent) abort();
    return 0;
}
