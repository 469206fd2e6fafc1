// Prints the stack guard of main, which that of a thread has to equal, and fails.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uintptr_t guard(void) {
    uintptr_t value;
    __asm__ volatile("mov %%fs:0x28, %0" : "=r"(value));
    return value;
}

static void *run(void *of_main) { return (void *)(guard() ^ *(uintptr_t *)of_main); }

int main(void) {
    uintptr_t own = guard();
    pthread_t thread;
    void *difference;
    pthread_create(&thread, NULL, run, &own);
    pthread_join(thread, &difference);
    if (difference != NULL) {
        return 2;
    }
    printf("%016lx\n", (unsigned long)own);
    fflush(stdout);
    abort();
}
