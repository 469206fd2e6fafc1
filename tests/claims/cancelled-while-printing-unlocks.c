// A thread that is cancelled while it prints leaves the stream unlocked.
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static FILE *stream;
static void *worker(void *u) {
    fprintf(stream, "%d\n", 1);
    return u;
}
int main(void) {
    pthread_t a;
    int ends[2];
    char full[4096];
    memset(full, 'x', sizeof full);
    assert(!pipe(ends));
    fcntl(ends[1], F_SETPIPE_SZ, sizeof full);
    assert(write(ends[1], full, sizeof full) == sizeof full);
    stream = fdopen(ends[1], "w");
    setvbuf(stream, 0, _IONBF, 0);
    pthread_create(&a, 0, worker, 0);
    pthread_cancel(a);
    pthread_join(a, 0);
    assert(!ftrylockfile(stream));
    return 0;
}
