#include "two_threads.h"

struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_barrier_t barrier;
    int ready;
};

static struct shared *first, *second;

static void *wait_until_ready(void *unused) {
    pthread_barrier_wait(&first->barrier);
    pthread_mutex_lock(&first->mutex);
    while (!first->ready) pthread_cond_wait(&first->condition, &first->mutex);
    pthread_mutex_unlock(&first->mutex);
    return unused;
}

static void *make_ready(void *unused) {
    pthread_barrier_wait(&second->barrier);
    pthread_mutex_lock(&second->mutex);
    second->ready = 1;
    pthread_cond_signal(&second->condition);
    pthread_mutex_unlock(&second->mutex);
    return unused;
}

int main(void) {
    int memory = memfd_create("objects", 0);
    assert(ftruncate(memory, 4096) == 0);
    first = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    second = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);

    pthread_mutexattr_t mutex;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&first->mutex, &mutex);
    pthread_condattr_t condition;
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&first->condition, &condition);
    pthread_barrierattr_t barrier;
    pthread_barrierattr_init(&barrier);
    pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&first->barrier, &barrier, 2);

    go(wait_until_ready, make_ready);
}
