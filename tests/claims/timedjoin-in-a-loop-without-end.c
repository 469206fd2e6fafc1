#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
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
    for (;;) {
        struct timespec deadline;
        clock_gettime(CLOCK_REALTIME, &deadline);
        deadline.tv_sec += 1;
        if (!pthread_timedjoin_np(thread, NULL, &deadline))
            return 0;
    }
}
