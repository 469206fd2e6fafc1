// A thread waits twice with a bound; only if it gives up the first time, and not the second time, it fails.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready;

static int waits(void) {
    for (int left = 1000; left > 0; left--) {
        if (atomic_load(&ready)) {
            return 1;
        }
        __builtin_ia32_pause();
    }
    return 0;
}

static void *wait_twice(void *unused) {
    int first = waits();
    int second = waits();
    assert(first || !second);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, wait_twice, 0);
    atomic_store(&ready, 1);
    pthread_join(thread, 0);
    return 0;
}
