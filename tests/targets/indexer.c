/* Threads put four messages each into a hash table by compare-and-swap, in the next free slot. Up
   to eleven threads never conflict. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MOST 32
#define SLOTS 128
#define MESSAGES 4

#ifndef TYPE
#define TYPE long
#endif

static _Atomic TYPE table[SLOTS];

static void *indexer(void *arg) {
    long me = (long)arg;
    for (long m = 1; m <= MESSAGES; m++) {
        long message = m * 11 + me;
        long slot = 7 * message % SLOTS;
        TYPE empty = 0;
        while (!atomic_compare_exchange_strong(&table[slot], &empty, message)) {
            slot = (slot + 1) % SLOTS;
            empty = 0;
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t ids[MOST];
    for (long i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, indexer, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
