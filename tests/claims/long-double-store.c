// fstp writes ten bytes: main can see the last of them changed.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static char area[16];
static void *worker(void *u) {
    __asm__ volatile("fld1; fstpt %0" : "=m"(area) : : "memory");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char before = *(volatile char *)&area[9], after = *(volatile char *)&area[9];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
