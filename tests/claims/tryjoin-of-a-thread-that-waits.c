#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static void *work(void *arg)
{
    pause();
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    while (pthread_tryjoin_np(thread, NULL))
        sched_yield();
    return 0;
}
