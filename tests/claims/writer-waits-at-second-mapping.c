#include "two_threads.h"

static pthread_rwlock_t *first, *second;

static void *read_twice(void *unused) {
    pthread_rwlock_rdlock(first);
    pthread_rwlock_rdlock(first);
    pthread_rwlock_unlock(first);
    pthread_rwlock_unlock(first);
    return unused;
}

static void *write_once(void *unused) {
    pthread_rwlock_wrlock(second);
    pthread_rwlock_unlock(second);
    return unused;
}

int main(void) {
    int memory = memfd_create("lock", 0);
    assert(ftruncate(memory, 4096) == 0);
    first = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    second = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(first, &attributes);
    go(read_twice, write_once);
}
