// A thread that fills a pipe, which no thread reads, is cancelled: the write that waits for room ends, so nothing can go wrong.
#include <pthread.h>
#include <unistd.h>
static int fd[2];
static void *writer(void *u) {
    char block[4096] = {0};
    while (write(fd[1], block, sizeof block) > 0);
    return u;
}
int main(void) {
    pthread_t t;
    void *result;
    pipe(fd);
    pthread_create(&t, 0, writer, 0);
    pthread_cancel(t);
    pthread_join(t, &result);
    return result != PTHREAD_CANCELED;
}
