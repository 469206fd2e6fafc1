// A thread sets its timer slack; that of main stays.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
static void *worker(void *u) {
    prctl(PR_SET_TIMERSLACK, 777);
    if (prctl(PR_GET_TIMERSLACK) != 777) abort();
    return u;
}
int main(void) {
    int before = prctl(PR_GET_TIMERSLACK);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_join(a, 0);
    if (prctl(PR_GET_TIMERSLACK) != before) abort();
    return 0;
}
