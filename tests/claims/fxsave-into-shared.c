// fxsave writes to memory that main reads twice: the two can differ.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static char area[512] __attribute__((aligned(64)));
static void *worker(void *u) {
    __asm__ volatile("fxsave64 %0" : "=m"(area) : : "memory");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int before = *(volatile int *)&area[24], after = *(volatile int *)&area[24];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
