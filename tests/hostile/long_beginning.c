// Two threads that meet at a barrier after a number of steps and some work, and then take a few steps
// whose order matters.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t barrier;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER, shared = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static _Thread_local int visits;
static char order[16];
static int steps;

static void leave(void *value) {
    (void)value;
    visits++;
}

static void *work(void *argument) {
    long me = (long)argument;
    uint64_t mixed = me + 1;
    int *block = malloc(sizeof *block * 1000);
    for (int i = 0; i < 1000; i++) {
        mixed = mixed * 6364136223846793005u + 1442695040888963407u;
        block[i] = mixed >> 40;
    }
    pthread_setspecific(key, block);
    for (int i = 0; me == 0 && i < steps; i++) {
        pthread_mutex_lock(&own);
        visits++;
        pthread_mutex_unlock(&own);
    }
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&shared);
        order[strlen(order)] = 'a' + me;
        block[i] += block[i + 1] + visits;
        pthread_mutex_unlock(&shared);
    }
    printf("%ld: %d\n", me, block[0]);
    free(block);
    return NULL;
}

int main(int argc, char **argv) {
    steps = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t threads[2];
    pthread_key_create(&key, leave);
    pthread_barrier_init(&barrier, NULL, 2);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    puts(order);
    return !strcmp(order, "babaab");
}
