// Two threads draw a random number under a lock.
#include <pthread.h>
#include <stdlib.h>
static double drawn[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *worker(void *which) {
    pthread_mutex_lock(&lock);
    drawn[(long)which] = drand48();
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, worker, (void *)0);
    pthread_create(&b, 0, worker, (void *)1);
    pthread_join(a, 0);
    pthread_join(b, 0);
    if (drawn[0] == drawn[1]) abort();
    return 0;
}
