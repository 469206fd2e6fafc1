// What additions leave in between is observed by a thread that reads the number.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int number;
static int seen;

static void *adds(void *unused)
{
    atomic_fetch_add(&number, 1);
    return unused;
}

static void *reads(void *unused)
{
    seen = atomic_load(&number);
    return unused;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, adds, NULL);
    pthread_create(&threads[3], NULL, reads, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    if (seen == 2)
        abort();
    return 0;
}
