/* Fails in many ways, each by its own schedules (-DFINE: in none). VALUE changes the program and
 * nothing else. With 8 THREADS there are more schedules than any search runs. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#ifndef VALUE
#define VALUE 1
#endif
#ifndef THREADS
#define THREADS 4
#endif

const int value = VALUE;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned order;

static void *work(void *number)
{
    for (int round = 0; round < 2; round++) {
        pthread_mutex_lock(&lock);
        order = order * THREADS + (unsigned)(long)number;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
#ifndef FINE
    assert(order % 5 != 0);
    assert(order % 7 != 0);
    if (order % 11 == 0)
        abort();
    if (order % 13 == 0)
        *(volatile int *)8 = value;
    return order % 17 == 0 ? (int)(order % 100) + 1 : 0;
#else
    return 0;
#endif
}
