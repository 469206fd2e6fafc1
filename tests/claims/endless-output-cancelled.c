// A thread prints until it is cancelled.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
static void *print(void *u) {
    for (;;) {
        printf("x\n");
        fflush(stdout);
    }
    return u;
}
int main(void) {
    pthread_t t;
    void *result;
    pthread_create(&t, 0, print, 0);
    pthread_cancel(t);
    pthread_join(t, &result);
    assert(result == PTHREAD_CANCELED);
    return 0;
}
