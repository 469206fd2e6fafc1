#include "two_threads.h"

struct locks {
    pthread_spinlock_t spin;
    pthread_mutex_t robust;
    pthread_rwlock_t readers;
    int under_spin, under_robust;
};

static struct locks *first, *second;

static void *lock_all(void *unused) {
    pthread_spin_lock(&first->spin);
    first->under_spin++;
    pthread_spin_unlock(&second->spin);
    pthread_mutex_lock(&first->robust);
    first->under_robust++;
    pthread_mutex_unlock(&second->robust);
    pthread_rwlock_rdlock(&first->readers);
    pthread_rwlock_unlock(&second->readers);
    return unused;
}

int main(void) {
    int memory = memfd_create("locks", 0);
    assert(ftruncate(memory, 4096) == 0);
    first = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    second = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    pthread_spin_init(&first->spin, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&first->robust, &robust);
    pthread_rwlockattr_t readers;
    pthread_rwlockattr_init(&readers);
    pthread_rwlockattr_setpshared(&readers, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&first->readers, &readers);
    go(lock_all, lock_all);
    assert(first->under_spin == 2 && first->under_robust == 2);
}
