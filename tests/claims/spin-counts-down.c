// A thread reads a flag at most a hundred times before it sleeps until main wakes it.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static atomic_int ready;
static int value;
static sem_t wake;

static void *wait_for_value(void *unused) {
    for (int left = 100; left > 0; left--) {
        if (atomic_load(&ready)) {
            break;
        }
        __builtin_ia32_pause();
    }
    sem_wait(&wake);
    assert(value == 1);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&wake, 0, 0);
    pthread_create(&thread, 0, wait_for_value, 0);
    value = 1;
    atomic_store(&ready, 1);
    sem_post(&wake);
    pthread_join(thread, 0);
    return 0;
}
