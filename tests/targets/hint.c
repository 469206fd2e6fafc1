/* Annotations by heddle.h; CASE selects the mistake. */
#include "heddle.h"
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t *lock;
static volatile int input, total;
#if CASE == 3
static volatile int marks[2];
#endif

static void *work(void *arg)
{
    int me = (int)(long)arg;
    (void)me;
#if CASE == 1 /* nothing but these points lets another thread in */
    int was = total;
    heddle_point(&total);
    total = was + 1;
#elif CASE == 2 /* the same, but in one piece */
    heddle_atomic_begin();
    int was = total;
    heddle_point(&total);
    total = was + 1;
    heddle_atomic_end();
#elif CASE == 3 /* an assertion that holds in most schedules, under a lock with a name */
    pthread_mutex_lock(lock);
    heddle_assert(me == 0 || marks[0]);
    marks[me] = 1;
    pthread_mutex_unlock(lock);
#endif
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    input = 1;
    lock = calloc(1, sizeof *lock);
    heddle_begin();
    heddle_name(lock, "the gate");
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
#if CASE < 3
    heddle_assert(total == 2);
#endif
    free(lock);
    return 0;
}
