// Thread and handler both print, but the thread raises the signal itself, between two calls.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
static void handler(int n) { printf("signal %d\n", n); }
static void *worker(void *u) {
    printf("working\n");
    raise(SIGUSR1);
    printf("done\n");
    return u;
}
int main(void) {
    signal(SIGUSR1, handler);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_join(a, 0);
    return 0;
}
