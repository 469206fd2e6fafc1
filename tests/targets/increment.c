/* A counter that each thread reads under the lock, and writes back under the lock taken again: what another thread
   wrote in between is lost. With -DLOCKED both happen under one lock, and nothing is lost. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 64

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static int rounds;

static void *add(void *unused)
{
    (void)unused;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&guard);
        int seen = counter;
#ifndef LOCKED
        pthread_mutex_unlock(&guard);
        pthread_mutex_lock(&guard);
#endif
        counter = seen + 1;
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atoi(argv[2]) : 1;
    if (threads < 1 || threads > MOST) {
        fprintf(stderr, "increment: from 1 to %d threads\n", MOST);
        return 2;
    }
    pthread_t thread[MOST];
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, add, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    return counter == threads * rounds ? 0 : 1;
}
