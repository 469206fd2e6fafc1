/* The core of Dekker's and Peterson's locks: each thread announces itself, and then tests whether the other
 * has. A processor may execute the test before the announcement is visible: with relaxed order it does, unless
 * there is a fence between them (FENCED) or both are sequentially consistent (ORDERED). No schedule shows that. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef ORDERED
#define ORDER memory_order_seq_cst
#else
#define ORDER memory_order_relaxed
#endif

static atomic_int comes[2];
static int inside;

static void *enter(void *arg)
{
    int me = arg != NULL;
    atomic_store_explicit(&comes[me], 1, ORDER);
#ifdef FENCED
    atomic_thread_fence(memory_order_seq_cst);
#endif
    if (!atomic_load_explicit(&comes[!me], ORDER))
        inside++;
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, enter, NULL);
    pthread_create(&threads[1], NULL, enter, &inside);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return inside > 1;
}
