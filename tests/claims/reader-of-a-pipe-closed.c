// A thread closes the end of a pipe that no other thread reads from: a write after that is answered with a signal.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int broken;
static int ends[2];
static void handler(int n) { broken = 1; }
static void *closer(void *u) {
    close(ends[0]);
    return u;
}
int main(void) {
    if (pipe(ends)) return 3;
    signal(SIGPIPE, handler);
    pthread_t a;
    pthread_create(&a, 0, closer, 0);
    if (write(ends[1], "x", 1) != 1 && !broken) return 3;
    if (broken) abort();
    pthread_join(a, 0);
    return 0;
}
