/* Threads that add to a counter without a lock. args: threads. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int counter;

static void *add(void *unused)
{
    (void)unused;
    counter = counter + 1;
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t thread[16];
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, add, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    assert(counter == threads);
    return 0;
}
