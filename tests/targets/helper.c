/* A helper function that increments an integer: a thousand times in a thread's own memory, and then
   once in shared memory, where an update is lost. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { OWN = 10, TIMES = 1000 };

static long both;

__attribute__((noinline)) static void add(long *to)
{
    *to += 1;
}

static void *run(void *unused)
{
    (void)unused;
    long *mine = calloc(OWN, sizeof *mine);
    assert(mine);
    for (int i = 0; i < TIMES; i++)
        add(&mine[i % OWN]);
    add(&both);
    free(mine);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert(both == 2);
    return 0;
}
