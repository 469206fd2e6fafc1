#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int first, second;

static void *work(void *arg)
{
    first = 1;
    if (second)
        first = 2;
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    second = 1;
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 3600;
    int error = pthread_timedjoin_np(thread, NULL, &deadline);
    assert(!error);
    return 0;
}
