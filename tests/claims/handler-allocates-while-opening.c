// A handler allocates memory while the thread that it interrupts opens a stream, which allocates memory, too.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static void *volatile mine;
static void handler(int n) {
    mine = malloc(16);
    free(mine);
}
static void *worker(void *u) {
    FILE *file = fopen("/dev/null", "r");
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
    if (file) fclose(file);
    return u;
}
int main(void) {
    signal(SIGUSR1, handler);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, 0);
    return 0;
}
