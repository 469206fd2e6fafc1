// cmpxchg16b exchanges two words: main can see the second changed.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static long pair[2] __attribute__((aligned(16)));
static void *worker(void *u) {
    __asm__ volatile("xor %%eax, %%eax; xor %%edx, %%edx; mov $1, %%ebx; mov $1, %%ecx; lock cmpxchg16b %0" : "+m"(pair) : : "rax", "rbx", "rcx", "rdx", "memory");
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    long before = *(volatile long *)&pair[1], after = *(volatile long *)&pair[1];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
