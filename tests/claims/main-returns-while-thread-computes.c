// Main returns while a thread computes without end, in its own memory.
#include <pthread.h>
static void *compute(void *u) {
    for (volatile int own = 0;; own++) {}
    return u;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, compute, 0);
    return 0;
}
