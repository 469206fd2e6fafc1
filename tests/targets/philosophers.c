/* Philosophers at a table, each of which takes the fork on the left, then the one on the
 * right. With -DORDERED the last one begins on the right, so that no cycle of waiting forms. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 16

static pthread_mutex_t fork_[MOST];
static int seats;
static int meals[MOST];

static void *philosopher(void *argument)
{
    int seat = (int)(intptr_t)argument;
    int first = seat, second = (seat + 1) % seats;
#ifdef ORDERED
    if (second < first) {
        first = second;
        second = seat;
    }
#endif
    pthread_mutex_lock(&fork_[first]);
    pthread_mutex_lock(&fork_[second]);
    meals[seat]++;
    pthread_mutex_unlock(&fork_[second]);
    pthread_mutex_unlock(&fork_[first]);
    return NULL;
}

int main(int argc, char **argv)
{
    seats = argc > 1 ? atoi(argv[1]) : 3;
    if (seats < 2 || seats > MOST) {
        fprintf(stderr, "philosophers: from 2 to %d\n", MOST);
        return 2;
    }
    pthread_t thread[MOST];
    for (int i = 0; i < seats; i++)
        pthread_mutex_init(&fork_[i], NULL);
    for (int i = 0; i < seats; i++)
        pthread_create(&thread[i], NULL, philosopher, (void *)(intptr_t)i);
    for (int i = 0; i < seats; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < seats; i++)
        if (meals[i] != 1)
            return 1;
    return 0;
}
