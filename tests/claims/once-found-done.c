// Two threads run one pthread_once, which is done when the second begins or not.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static int value;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void initialise(void) { value = 1; }
static void use(void) {
    pthread_once(&once, initialise);
    if (value != 1) abort();
}
static void *worker(void *u) {
    use();
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    use();
    pthread_join(a, 0);
    return 0;
}
