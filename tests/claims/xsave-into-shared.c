// The processor state is stored into an array while another thread writes to it: the store can be overwritten.
#include <pthread.h>
#include <stdlib.h>
static char area[8192] __attribute__((aligned(64)));
static void *saver(void *u) {
    asm volatile("fxsave64 %0" : "=m"(area));
    return u;
}
int main(void) {
    pthread_t a;
    area[0] = 1;
    pthread_create(&a, 0, saver, 0);
    volatile char *v = area;
    v[0] = 1;
    char seen = v[0];
    pthread_join(a, 0);
    if (seen != 1) abort();
    return 0;
}
