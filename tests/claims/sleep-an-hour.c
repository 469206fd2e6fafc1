// The clock shows the hour that a thread has slept, in that thread and in the one that joins it.
#include <assert.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static time_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}
static void *worker(void *u) {
    time_t begin = now();
    sleep(3600);
    assert(now() - begin >= 3600);
    return u;
}
int main(void) {
    time_t begin = now();
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_join(a, 0);
    assert(now() - begin >= 3600);
    return 0;
}
