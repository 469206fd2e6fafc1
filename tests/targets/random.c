/* rand() is one sequence for all threads, rand_r() one for each: the same numbers in any order of calls. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int drawn[2];

static void *draw(void *argument)
{
    drawn[(intptr_t)argument] = rand();
    unsigned seed = 1;
    for (int i = 0; i < 3; i++)
        rand_r(&seed);
    return (void *)(intptr_t)seed;
}

int main(void)
{
    pthread_t thread[2];
    void *seed[2];
    srand(1);
    long expected = (long)rand() + rand();
    srand(1);
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, draw, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], &seed[i]);
    puts((long)drawn[0] + drawn[1] == expected && seed[0] == seed[1] ? "same numbers" : "other numbers");
    return 0;
}
