// Asynchronous cancellation may end the thread between its two stores.
#include <pthread.h>
#include <stdlib.h>
static volatile int x;
static void *worker(void *u) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
    x = 1;
    x = 2;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, 0);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_cancel(a);
    pthread_join(a, 0);
    if (x == 1) abort();
    return 0;
}
