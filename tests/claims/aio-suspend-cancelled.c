// A wait for asynchronous input is a cancellation point.
#include <aio.h>
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static struct aiocb request;
static void *worker(void *u) {
    const struct aiocb *requests[] = { &request };
    aio_suspend(requests, 1, 0);
    return u;
}
int main(void) {
    static char byte;
    pthread_t a;
    void *result;
    int ends[2];
    assert(!pipe(ends));
    request.aio_fildes = ends[0];
    request.aio_buf = &byte;
    request.aio_nbytes = 1;
    assert(!aio_read(&request));
    pthread_create(&a, 0, worker, 0);
    pthread_cancel(a);
    pthread_join(a, &result);
    assert(result == PTHREAD_CANCELED);
    return 0;
}
