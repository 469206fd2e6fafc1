// Once a key is deleted, a thread does not get the value that it stored under it.
#include <pthread.h>
#include <stdlib.h>
static pthread_key_t key;
static void *worker(void *u) {
    if (pthread_setspecific(key, &key)) return u;
    if (!pthread_getspecific(key)) abort();
    return u;
}
int main(void) {
    pthread_key_create(&key, 0);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    pthread_key_delete(key);
    pthread_join(a, 0);
    return 0;
}
