// sendfile fills a pipe, splice moves it to a second one, and a third thread reads it.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
enum { SIZE = 300000 };
static int p[2], q[2];
static void *mover(void *u) {
    ssize_t n, all = 0;
    while ((n = splice(p[0], 0, q[1], 0, SIZE, 0)) > 0) all += n;
    assert(n == 0 && all == SIZE);
    close(q[1]);
    return u;
}
static void *reader(void *u) {
    static char got[5000];
    ssize_t n, all = 0;
    while ((n = read(q[0], got, sizeof got)) > 0) all += n;
    assert(n == 0 && all == SIZE);
    return u;
}
int main(void) {
    int file = memfd_create("data", 0);
    ftruncate(file, SIZE);
    pipe(p);
    pipe(q);
    pthread_t t[2];
    pthread_create(&t[0], 0, mover, 0);
    pthread_create(&t[1], 0, reader, 0);
    ssize_t n, all = 0;
    while ((n = sendfile(p[1], file, 0, SIZE - all)) > 0) all += n;
    assert(all == SIZE);
    close(p[1]);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
}
