// memset is reached by a jump through a pointer: another thread can see what it wrote.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char text[64];
typedef void *(*filler)(void *, int, size_t);
static filler volatile fill = memset;
__attribute__((noinline)) static void *put(int v) { return fill(text, v, 64); }
static void *worker(void *u) {
    put(1);
    put(0);
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
