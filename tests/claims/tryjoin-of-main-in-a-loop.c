#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static pthread_t beginning;

static void *work(void *arg)
{
    while (pthread_tryjoin_np(beginning, NULL))
        sched_yield();
    exit(arg != NULL);
}

int main(void)
{
    beginning = pthread_self();
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_exit(NULL);
}
