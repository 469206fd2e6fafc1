// One thread gives pages back with madvise while another reads: it can read 0.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
static int *memory;
static void *worker(void *u) {
    madvise(memory, 4096, MADV_DONTNEED);
    return u;
}
int main(void) {
    memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[0] = 1;
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int seen = *(volatile int *)memory;
    pthread_join(a, 0);
    if (seen != 1) abort();
    return 0;
}
