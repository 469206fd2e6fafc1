// Two threads draw a random number. rand takes a lock of the library, so the numbers differ.
#include <pthread.h>
#include <stdlib.h>
static int drawn[2];
static void *worker(void *which) {
    drawn[(long)which] = rand();
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
