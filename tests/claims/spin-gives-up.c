// A thread reads a flag at most a hundred times, and then takes it for set.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready;
static atomic_int value;

static void *wait_for_value(void *unused) {
    for (int left = 100; left > 0; left--) {
        if (atomic_load(&ready)) {
            break;
        }
        __builtin_ia32_pause();
    }
    assert(atomic_load(&value) == 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, wait_for_value, 0);
    atomic_store(&value, 1);
    atomic_store(&ready, 1);
    pthread_join(thread, 0);
    return 0;
}
