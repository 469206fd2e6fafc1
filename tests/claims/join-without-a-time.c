// glibc: a null time for a join with a limit means none.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static void *work(void *u) {
    sleep(1);
    return u;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    assert(!pthread_timedjoin_np(t, 0, 0));
    pthread_create(&t, 0, work, 0);
    assert(!pthread_clockjoin_np(t, 0, CLOCK_MONOTONIC, 0));
    return 0;
}
