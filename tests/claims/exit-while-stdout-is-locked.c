// exit does not wait for the lock of a stream: the process ends although main holds it forever.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *leaver(void *u) {
    exit(0);
    return u;
}
int main(void) {
    pthread_t a;
    flockfile(stdout);
    pthread_create(&a, 0, leaver, 0);
    pthread_join(a, 0);
    return 1;
}
