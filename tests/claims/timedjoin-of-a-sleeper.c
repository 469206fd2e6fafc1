#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static void *work(void *arg)
{
    sleep(60);
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 5;
    int error = pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &deadline);
    assert(error);
    return pthread_join(thread, NULL);
}
