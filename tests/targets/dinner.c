/* Philosophers eat one at a time, under one lock; each counts those who have finished, without the
   lock, and asserts that the last one to eat was not the last to finish. args: how many. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST = 16 };

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_[MOST];
static int seats, done;

static void *philosopher(void *argument)
{
    int seat = (int)(intptr_t)argument;
    pthread_mutex_lock(&table);
    pthread_mutex_lock(&fork_[seat]);
    pthread_mutex_lock(&fork_[(seat + 1) % seats]);
    pthread_mutex_unlock(&fork_[(seat + 1) % seats]);
    pthread_mutex_unlock(&fork_[seat]);
    pthread_mutex_unlock(&table);
    done++;
    assert(done != seats);
    return NULL;
}

int main(int argc, char **argv)
{
    seats = argc > 1 ? atoi(argv[1]) : 3;
    pthread_t thread[MOST];
    for (int i = 0; i < seats; i++)
        pthread_mutex_init(&fork_[i], NULL);
    for (int i = 0; i < seats; i++)
        pthread_create(&thread[i], NULL, philosopher, (void *)(intptr_t)i);
    for (int i = 0; i < seats; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
