// A thread reads from a pipe without waiting, and yields in between; the byte may be taken by another thread.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
static int ends[2];
static void *reader(void *u) {
    char byte;
    while (read(ends[0], &byte, 1) != 1) sched_yield();
    return u;
}
int main(void) {
    pthread_t a;
    char byte;
    pipe(ends);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    write(ends[1], "x", 1);
    pthread_create(&a, 0, reader, 0);
    read(ends[0], &byte, 1);
    pthread_join(a, 0);
    return 0;
}
