/* A bounded buffer with one slot, one producer and two consumers. A consumer that was woken must test
   the condition again, because the other consumer may have run first. With -DIF_WAIT it does not. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define ITEMS 2

#ifdef IF_WAIT
#define UNTIL_NOT if
#else
#define UNTIL_NOT while
#endif

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static int slot, used, taken;

static void *produce(void *unused)
{
    (void)unused;
    for (int i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&guard);
        while (used == 1)
            pthread_cond_wait(&not_full, &guard);
        slot = i;
        used = 1;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

static void *consume(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    UNTIL_NOT (used == 0)
        pthread_cond_wait(&not_empty, &guard);
    assert(used == 1);
    used = 0;
    taken += slot;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    pthread_t producer, consumer[ITEMS];
    for (int i = 0; i < ITEMS; i++)
        pthread_create(&consumer[i], NULL, consume, NULL);
    pthread_create(&producer, NULL, produce, NULL);
    pthread_join(producer, NULL);
    for (int i = 0; i < ITEMS; i++)
        pthread_join(consumer[i], NULL);
    return taken == 3 ? 0 : 1;
}
