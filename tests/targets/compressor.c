/* Consumers compress the blocks of a queue into one buffer, and a writer empties it. Main frees the
   queue's lock while a consumer may still use it. With -DJOINED it waits for them, and what is left is
   that the buffer has a lock for its length, and another for what it holds. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { BLOCKS = 2, CONSUMERS = 2 };

struct queue {
    pthread_mutex_t guard;
    int next;
};

static struct queue *queue;
static pthread_mutex_t length_guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t output_guard = PTHREAD_MUTEX_INITIALIZER;
static int length, output[BLOCKS], written;

static void *compress(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&queue->guard);
        int block = queue->next++;
        pthread_mutex_unlock(&queue->guard);
        if (block >= BLOCKS)
            return NULL;
        pthread_mutex_lock(&length_guard);
        int at = length++;
        pthread_mutex_unlock(&length_guard);
        pthread_mutex_lock(&output_guard);
        output[at] = block + 1;
        pthread_mutex_unlock(&output_guard);
    }
}

static void *write_out(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&length_guard);
    int ready = length;
    pthread_mutex_unlock(&length_guard);
    for (; written < ready; written++) {
        pthread_mutex_lock(&output_guard);
#ifdef JOINED
        assert(output[written] != 0);
#endif
        pthread_mutex_unlock(&output_guard);
    }
    return NULL;
}

int main(void)
{
    queue = malloc(sizeof *queue);
    queue->next = 0;
    pthread_mutex_init(&queue->guard, NULL);
    pthread_t consumer[CONSUMERS], writer;
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&consumer[i], NULL, compress, NULL);
    pthread_create(&writer, NULL, write_out, NULL);
    pthread_join(writer, NULL);
#ifdef JOINED
    for (int i = 0; i < CONSUMERS; i++)
        pthread_join(consumer[i], NULL);
#endif
    pthread_mutex_destroy(&queue->guard);
    free(queue);
    return 0;
}
