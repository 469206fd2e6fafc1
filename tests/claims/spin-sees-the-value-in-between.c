// A loop ends at its bound with a value that was there only for a while.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int state = 1;

static void *wait_for_zero(void *unused) {
    int seen = 1;
    for (int left = 100; left > 0; left--) {
        seen = atomic_load(&state);
        if (seen == 0) {
            break;
        }
        __builtin_ia32_pause();
    }
    assert(seen != 2);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, wait_for_zero, 0);
    atomic_store(&state, 2);
    atomic_store(&state, 0);
    pthread_join(thread, 0);
    return 0;
}
