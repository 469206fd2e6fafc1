// A thread has another name for a moment.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static pthread_t first;
static void *worker(void *u) {
    char name[16];
    pthread_getname_np(first, name, sizeof name);
    if (name[0] == 'b') abort();
    return u;
}
int main(void) {
    pthread_t a;
    first = pthread_self();
    pthread_setname_np(first, "a");
    pthread_create(&a, 0, worker, 0);
    pthread_setname_np(first, "b");
    pthread_setname_np(first, "a");
    pthread_join(a, 0);
    return 0;
}
