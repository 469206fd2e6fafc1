/* A sequence lock: the writer makes the sequence odd while it writes, a reader that saw it change reads again. The
   data are atomics, as C11 wants it (Boehm, 2012). */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_uint sequence;
static atomic_int left, right;

static void *write_both(void *unused)
{
    (void)unused;
    unsigned before = atomic_load_explicit(&sequence, memory_order_relaxed);
    atomic_store_explicit(&sequence, before + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&left, 1, memory_order_relaxed);
    atomic_store_explicit(&right, 1, memory_order_relaxed);
    atomic_store_explicit(&sequence, before + 2, memory_order_release);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, write_both, NULL);
    unsigned before, after;
    int a, b;
    do {
        before = atomic_load_explicit(&sequence, memory_order_acquire);
        a = atomic_load_explicit(&left, memory_order_relaxed);
        b = atomic_load_explicit(&right, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&sequence, memory_order_relaxed);
    } while (before != after || before % 2 != 0);
    assert(a == b);
    pthread_join(thread, NULL);
    return 0;
}
