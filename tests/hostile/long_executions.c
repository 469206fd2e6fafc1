/* Little code, and many accesses to memory in each execution. The counter is changed without a lock. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { LEN = 1000, TIMES = 600 };
static int counter;

static void *work(void *unused)
{
    volatile long *mine = calloc(LEN, sizeof *mine);
    for (int i = 0; i < TIMES; i++)
        for (int at = 0; at < LEN; at++)
            mine[at] += i;
    free((void *)mine);
    counter = counter + 1;
    return unused;
}

int main(void)
{
    pthread_t one, other;
    pthread_create(&one, NULL, work, NULL);
    pthread_create(&other, NULL, work, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    assert(counter == 2);
    return 0;
}
