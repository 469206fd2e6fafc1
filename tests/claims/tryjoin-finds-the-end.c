#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>

static void *work(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    int error = pthread_tryjoin_np(thread, NULL);
    assert(error);
    return 0;
}
