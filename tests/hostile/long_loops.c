/* Two threads that compute for millions of private accesses, then lose an update of a counter
   (unless built with -DFIXED). */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { SIZE = 1000, ROUNDS = 4000 };

static int private_data[2][SIZE];
static volatile int counter;

static void *work(void *which)
{
    int *data = which;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 1; i < SIZE; i++)
            data[i] += data[i - 1] + round;
#ifdef FIXED
    __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
#else
    counter = counter + 1;
#endif
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, private_data[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert(counter == 2);
    return 0;
}
