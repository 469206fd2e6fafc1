// Code that a constructor generated changes a variable for a moment: another thread can see that.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static volatile int x;
static void (*flicker)(volatile int *);
__attribute__((constructor)) static void generate(void) {
    /* movl $1, (%rdi); movl $0, (%rdi); ret */
    unsigned char code[] = {0xc7, 7, 1, 0, 0, 0, 0xc7, 7, 0, 0, 0, 0, 0xc3};
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    flicker = page;
}
static void *worker(void *u) {
    flicker(&x);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    int c = x;
    pthread_join(a, 0);
    if (c) abort();
    return 0;
}
