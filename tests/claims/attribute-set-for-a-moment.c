// The other thread makes an attribute another one for a moment.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static pthread_mutexattr_t attribute;
static void *worker(void *u) {
    pthread_mutexattr_settype(&attribute, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutexattr_settype(&attribute, PTHREAD_MUTEX_ERRORCHECK);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_mutex_t lock;
    pthread_mutexattr_init(&attribute);
    pthread_mutexattr_settype(&attribute, PTHREAD_MUTEX_ERRORCHECK);
    pthread_create(&a, 0, worker, 0);
    pthread_mutex_init(&lock, &attribute);
    pthread_mutex_lock(&lock);
    if (pthread_mutex_lock(&lock) == 0) abort();
    pthread_join(a, 0);
    return 0;
}
