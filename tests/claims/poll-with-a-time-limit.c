#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_int ready;

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void *setter(void *unused)
{
    (void)unused;
    usleep(5000);
    ready = 1;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, setter, NULL);
    long limit = now() + 30000;
    while (!ready) {
        if (now() > limit)
            abort();
        usleep(1000);
    }
    pthread_join(thread, NULL);
    return 0;
}
