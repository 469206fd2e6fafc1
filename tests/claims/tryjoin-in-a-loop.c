#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

static void *work(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    while (pthread_tryjoin_np(thread, NULL))
        usleep(1000);
    return 0;
}
