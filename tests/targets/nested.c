/* Threads that create threads, and results that come back through joins. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static void *count(void *depth)
{
    intptr_t left = (intptr_t)depth;
    if (left == 0)
        return (void *)1;
    pthread_t child;
    void *below = NULL;
    assert(pthread_create(&child, NULL, count, (void *)(left - 1)) == 0);
    assert(pthread_join(child, &below) == 0);
    return (void *)((intptr_t)below + 1);
}

int main(void)
{
    pthread_t first;
    void *result = NULL;
    assert(pthread_create(&first, NULL, count, (void *)2) == 0);
    assert(pthread_join(first, &result) == 0);
    assert((intptr_t)result == 3);
    return 0;
}
