// A thread uses the number of times that it read a flag.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready;

static void *wait_for_flag(void *unused) {
    int left = 100;
    while (left > 0 && !atomic_load(&ready)) {
        __builtin_ia32_pause();
        left--;
    }
    assert(left != 97);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, wait_for_flag, 0);
    atomic_store(&ready, 1);
    pthread_join(thread, 0);
    return 0;
}
