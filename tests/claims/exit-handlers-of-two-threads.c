// Two threads register a function for exit: those run in the reverse order of registration, which nothing decides.
#include <pthread.h>
#include <stdlib.h>
static int ran;
static void first(void) { if (ran) abort(); }
static void second(void) { ran = 1; }
static void *worker(void *u) {
    atexit(first);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    atexit(second);
    pthread_join(a, 0);
    return 0;
}
