/* A producer hands three items to a consumer, one at a time, and the sum that main expects is wrong. */
#include <assert.h>
#include <pthread.h>

enum { ITEMS = 3 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_cond_t emptied = PTHREAD_COND_INITIALIZER;
static int full, item, sum;

static void *produce(void *unused)
{
    (void)unused;
    for (int i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&guard);
        while (full)
            pthread_cond_wait(&emptied, &guard);
        item = i;
        full = 1;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

static void *consume(void *unused)
{
    (void)unused;
    for (int i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&guard);
        while (!full)
            pthread_cond_wait(&filled, &guard);
        sum += item;
        full = 0;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

int main(void)
{
    pthread_t producer, consumer;
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    assert(sum == ITEMS * ITEMS);
    return 0;
}
