// setenv of a new variable reallocates the array of the environment; getenv takes no lock and reads the old one.
#include <pthread.h>
#include <stdlib.h>
static void *worker(void *u) {
    setenv("ANOTHER", "new", 1);
    return u;
}
int main(void) {
    pthread_t a;
    setenv("SHARED", "old", 1);
    pthread_create(&a, 0, worker, 0);
    if (!getenv("SHARED")) abort();
    pthread_join(a, 0);
    return 0;
}
