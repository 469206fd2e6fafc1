#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int done;
static int shared[2];

static void *work(void *arg)
{
    shared[*(int *)arg] = 1;
    done++;
    return NULL;
}

int main(void)
{
    int numbers[] = {0, 1};
    pthread_t first, second;
    pthread_create(&first, NULL, work, &numbers[0]);
    pthread_create(&second, NULL, work, &numbers[1]);
    int ended = 0;
    while (ended != 3) {
        if (!(ended & 1) && !pthread_tryjoin_np(first, NULL))
            ended |= 1;
        if (!(ended & 2) && !pthread_tryjoin_np(second, NULL))
            ended |= 2;
        sched_yield();
    }
    assert(done == 2 && shared[0] && shared[1]);
    return 0;
}
