// Runs for long without a scheduling point: "computes" changes memory all the time, "spins" changes none.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static unsigned table[4096];
static volatile int never;

static void *computes(void *rounds) {
    unsigned value = 1;
    for (long i = 0; i < (long)rounds; i++) {
        value = value * 1664525u + 1013904223u;
        ((volatile unsigned *)table)[value >> 20] += value;
    }
    return NULL;
}

static void *spins(void *unused) {
    while (!never) {
    }
    return unused;
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    pthread_t thread;
    long rounds = argc > 2 ? atol(argv[2]) : 0;
    pthread_create(&thread, NULL, strcmp(argv[1], "computes") == 0 ? computes : spins, (void *)rounds);
    pthread_join(thread, NULL);
    return 0;
}
