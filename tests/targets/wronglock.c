/* One thread relies on a number under one lock, other threads change it under another lock. args:
   the number of the others. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static volatile int number;

static void *check(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&a);
    int before = number;
    number++;
    assert(number == before + 1);
    pthread_mutex_unlock(&a);
    return NULL;
}

static void *change(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&b);
    number++;
    pthread_mutex_unlock(&b);
    return NULL;
}

int main(int argc, char **argv)
{
    int others = argc > 1 ? atoi(argv[1]) : 3;
    pthread_t checker, other[8];
    pthread_create(&checker, NULL, check, NULL);
    for (int i = 0; i < others; i++)
        pthread_create(&other[i], NULL, change, NULL);
    pthread_join(checker, NULL);
    for (int i = 0; i < others; i++)
        pthread_join(other[i], NULL);
    return 0;
}
