/* A bounded queue for two consumers and one producer.
 *
 * Every access to the queue is under its lock, and every wait is in a loop that checks its
 * condition again. The test below still hangs once in a while: producers that wait for room and
 * consumers that wait for items share one condition variable, and pthread_cond_signal wakes only
 * one waiter, which may be one that cannot use the wake-up.
 *
 * `make FIXED=1` builds the corrected version: one condition variable for each condition. */

#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { CAPACITY = 1, CONSUMERS = 2, ITEMS_EACH = 1 };

struct queue {
    pthread_mutex_t lock;
#ifdef FIXED
    pthread_cond_t not_full;
    pthread_cond_t not_empty;
#else
    pthread_cond_t changed;
#endif
    int items[CAPACITY];
    int count;
};

#ifdef FIXED
#define NOT_FULL(queue) (&(queue)->not_full)
#define NOT_EMPTY(queue) (&(queue)->not_empty)
#else
#define NOT_FULL(queue) (&(queue)->changed)
#define NOT_EMPTY(queue) (&(queue)->changed)
#endif

static struct queue jobs = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
#ifdef FIXED
    .not_full = PTHREAD_COND_INITIALIZER,
    .not_empty = PTHREAD_COND_INITIALIZER,
#else
    .changed = PTHREAD_COND_INITIALIZER,
#endif
};

static void put(struct queue *queue, int item)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == CAPACITY)
        pthread_cond_wait(NOT_FULL(queue), &queue->lock);
    queue->items[queue->count++] = item;
    pthread_cond_signal(NOT_EMPTY(queue));
    pthread_mutex_unlock(&queue->lock);
}

static int take(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0)
        pthread_cond_wait(NOT_EMPTY(queue), &queue->lock);
    int item = queue->items[--queue->count];
    pthread_cond_signal(NOT_FULL(queue));
    pthread_mutex_unlock(&queue->lock);
    return item;
}

static void *consumer(void *sum)
{
    for (int i = 0; i < ITEMS_EACH; i++)
        *(int *)sum += take(&jobs);
    return NULL;
}

int main(void)
{
    pthread_t consumers[CONSUMERS];
    int sums[CONSUMERS] = {0};
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&consumers[i], NULL, consumer, &sums[i]);
    for (int i = 1; i <= CONSUMERS * ITEMS_EACH; i++)
        put(&jobs, i);
    int total = 0;
    for (int i = 0; i < CONSUMERS; i++) {
        pthread_join(consumers[i], NULL);
        total += sums[i];
    }
    assert(total == 3);
    printf("total %d\n", total);
    return 0;
}
