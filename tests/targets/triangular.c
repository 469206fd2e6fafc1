/* i = j + 1 and j = i + 1, each some times, each under a lock: one of them gets beyond the limit only
   where they alternate perfectly. args: rounds. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int i = 3, j = 6, rounds = 5;

static void *one(void *unused)
{
    (void)unused;
    for (int round = 0; round < rounds; round++) {
        pthread_mutex_lock(&guard);
        i = j + 1;
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

static void *two(void *unused)
{
    (void)unused;
    for (int round = 0; round < rounds; round++) {
        pthread_mutex_lock(&guard);
        j = i + 1;
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atoi(argv[1]) : 5;
    pthread_t first, second;
    pthread_create(&first, NULL, one, NULL);
    pthread_create(&second, NULL, two, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    /* 6 at the start, and each assignment adds one where the other came between. */
    assert(i < 6 + 2 * rounds && j < 6 + 2 * rounds);
    return 0;
}
