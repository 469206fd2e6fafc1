// Loops that wait for another task, forever if it has ended.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int ready, waiting;

#ifdef TRIES
static int tries;
#endif

static void *wait_for_it(void *unused) {
    (void)unused;
#if defined(LOST)
    // A test whether another task waits may be too early: then none is woken.
    atomic_store(&waiting, 1);
    while (!atomic_load(&ready))
        sched_yield();
#elif defined(TRIES)
    // Gives up after a while: no livelock, though the stack is the same in each iteration.
    while (!atomic_load(&ready) && ++tries < 50)
        sched_yield();
#elif defined(LOCK)
    // A hand-made lock: by exchange, without any yield.
    while (atomic_exchange(&waiting, 1))
        ;
    atomic_fetch_add(&ready, 1);
    atomic_store(&waiting, 0);
#else
    while (!atomic_load(&ready))
        ;
#endif
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_it, NULL);
#if defined(LOST)
    if (atomic_load(&waiting))
        atomic_store(&ready, 1);
#elif defined(TRIES)
    atomic_fetch_add(&waiting, 1);
    if (atomic_load(&waiting) > 1)
        atomic_store(&ready, 1);
#elif defined(LOCK)
    wait_for_it(NULL);
#else
    atomic_store(&ready, 1);
#endif
    pthread_join(thread, NULL);
    return 0;
}
