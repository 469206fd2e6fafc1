// One thread protects a page, and the other can fault at its write; the handler counts.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
static int *memory;
static volatile int faults;
static void handle(int signal) {
    (void)signal;
    faults++;
    mprotect(memory, 4096, PROT_READ | PROT_WRITE);
}
static void *worker(void *u) {
    mprotect(memory, 4096, PROT_READ);
    return u;
}
int main(void) {
    signal(SIGSEGV, handle);
    memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    *(volatile int *)memory = 1;
    pthread_join(a, 0);
    if (faults) abort();
    return 0;
}
