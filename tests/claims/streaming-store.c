// movnti stores past the caches: main can see it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static int x;
static void *worker(void *u) {
    __asm__ volatile("mov $1, %%eax; movnti %%eax, %0" : "=m"(x) : : "rax", "memory");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int before = *(volatile int *)&x, after = *(volatile int *)&x;
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
