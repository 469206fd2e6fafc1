/* A ring buffer for one producer and one consumer: each index is written by one side, and publishes
   the items or the free slots before it. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

enum { SIZE = 2, ITEMS = 3 };

static int items[SIZE];
static atomic_uint head, tail;

static void *produce(void *unused)
{
    (void)unused;
    for (int i = 1; i <= ITEMS; i++) {
        unsigned at = atomic_load_explicit(&tail, memory_order_relaxed);
        while (at - atomic_load_explicit(&head, memory_order_acquire) == SIZE)
            sched_yield();
        items[at % SIZE] = i;
        atomic_store_explicit(&tail, at + 1, memory_order_release);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, produce, NULL);
    for (int i = 1; i <= ITEMS; i++) {
        unsigned at = atomic_load_explicit(&head, memory_order_relaxed);
        while (atomic_load_explicit(&tail, memory_order_acquire) == at)
            sched_yield();
        assert(items[at % SIZE] == i);
        atomic_store_explicit(&head, at + 1, memory_order_release);
    }
    pthread_join(thread, NULL);
    return 0;
}
