#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <time.h>

static pthread_t joined;

static void *work(void *arg)
{
    return arg;
}

static void *join(void *arg)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 500;
    int error = pthread_timedjoin_np(joined, NULL, &deadline);
    assert(!error);
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&joined, NULL, work, NULL);
    pthread_create(&thread, NULL, join, NULL);
    pthread_cancel(thread);
    void *result;
    pthread_join(thread, &result);
    if (result == PTHREAD_CANCELED)
        pthread_join(joined, NULL);
    return 0;
}
