// memset is called through a pointer: another thread can see what it wrote before it is overwritten.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char text[64];
static void *(*volatile fill)(void *, int, size_t) = memset;
static void *worker(void *u) {
    fill(text, 1, 64);
    fill(text, 0, 64);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char c = *(volatile char *)(text + 40);
    pthread_join(a, 0);
    if (c) abort();
    return 0;
}
