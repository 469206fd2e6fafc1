/* A value is handed over by a flag, which the other thread waits for in a loop. With EARLY the flag is set before
   the value is written. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int value;
static atomic_int flag;

static void *publish(void *unused)
{
    (void)unused;
#ifdef EARLY
    atomic_store_explicit(&flag, 1, memory_order_release);
    value = 42;
#else
    value = 42;
    atomic_store_explicit(&flag, 1, memory_order_release);
#endif
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, publish, NULL);
    while (!atomic_load_explicit(&flag, memory_order_acquire))
        ;
    assert(value == 42);
    pthread_join(thread, NULL);
    return 0;
}
