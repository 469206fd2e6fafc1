/* A bounded buffer with one slot: a producer and two consumers, who begin together (a barrier), wait for each other (two
   conditions), and look up what an item weighs (a read-write lock). args: the mistake to plant. */
#include "classic.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { ITEMS = 2 };

static struct buffer {
    pthread_mutex_t guard;
    pthread_cond_t not_empty, not_full;
    int slot, used;
} *buffer;
static pthread_mutex_t scales = PTHREAD_MUTEX_INITIALIZER, label = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t weights;
static pthread_barrier_t begin;
static int weight = 1, taken;

static int is_empty(void)
{
    pthread_mutex_lock(&buffer->guard);
    int answer = !buffer->used;
    pthread_mutex_unlock(&buffer->guard);
    return answer;
}

static int weigh(int item)
{
    pthread_rwlock_rdlock(&weights);
    if (mistake("read-recursion")) {
        pthread_rwlock_rdlock(&weights);
        pthread_rwlock_unlock(&weights);
    }
    int answer = item * weight;
    pthread_rwlock_unlock(&weights);
    return answer;
}

static void put(int item)
{
    pthread_mutex_lock(&buffer->guard);
    while (buffer->used)
        pthread_cond_wait(&buffer->not_full, mistake("wait-mutex") ? &scales : &buffer->guard);
    buffer->slot = item;
    buffer->used = 1;
    if (mistake("unlock-not-held")) /* so as not to wake the others with the lock held, and once more below */
        pthread_mutex_unlock(&buffer->guard);
    pthread_cond_signal(&buffer->not_empty);
    pthread_mutex_unlock(&buffer->guard);
}

static int get(void)
{
    if (mistake("deadlock")) { /* the item may come between the question and the wait */
        int empty = is_empty();
        pthread_mutex_lock(&buffer->guard);
        if (empty)
            pthread_cond_wait(&buffer->not_empty, &buffer->guard);
    } else {
        pthread_mutex_lock(&buffer->guard);
        while (mistake("self-deadlock") ? is_empty() : !buffer->used)
            pthread_cond_wait(&buffer->not_empty, &buffer->guard);
    }
    int item = buffer->slot;
    buffer->used = 0;
    taken += item;
    pthread_cond_signal(&buffer->not_full);
    pthread_mutex_unlock(&buffer->guard);
    return item;
}

static void *produce(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&begin);
    for (int item = 1; item <= ITEMS; item++)
        put(item);
    pthread_rwlock_wrlock(&weights);
    weight = 2;
    pthread_rwlock_unlock(&weights);
    if (mistake("used-destroyed"))
        pthread_mutex_destroy(&buffer->guard); /* the last item was not fetched yet */
    return NULL;
}

static void *consume(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&begin);
    int item = get();
    assert(weigh(item) >= item || mistake("deadlock"));
    if (mistake("lock-left-held") && item == ITEMS)
        pthread_mutex_lock(&label);
    return NULL;
}

static struct buffer *new_buffer(void)
{
    struct buffer *new = malloc(sizeof *new);
    memset(new, 0x5a, sizeof *new);
    pthread_mutex_init(&new->guard, NULL);
    pthread_cond_init(&new->not_empty, NULL);
    if (!mistake("uninitialised"))
        pthread_cond_init(&new->not_full, NULL);
    new->used = 0;
    return new;
}

int main(int argc, char **argv)
{
    pthread_t thread[ITEMS + 1];
    plant(argc, argv);
    buffer = new_buffer();
    prefer_writers(&weights);
    pthread_barrier_init(&begin, NULL, ITEMS + 1 + mistake("barrier-count"));
    for (int i = 0; i < ITEMS; i++)
        pthread_create(&thread[i], NULL, consume, NULL);
    pthread_create(&thread[ITEMS], NULL, produce, NULL);
    for (int i = mistake("object-in-use") ? ITEMS : 0; i <= ITEMS; i++)
        pthread_join(thread[i], NULL);
    if (mistake("thread-misuse"))
        pthread_detach(thread[ITEMS]);
    pthread_cond_destroy(&buffer->not_empty);
    if (!mistake("used-destroyed"))
        pthread_mutex_destroy(&buffer->guard);
    return taken == 3 || mistake("object-in-use") || mistake("deadlock") ? 0 : 1;
}
