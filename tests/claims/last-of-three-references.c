// Each of three threads may be the one that drops the last reference; the second one may not.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int references = 3;
static int last;

static void *drops(void *number)
{
    if (atomic_fetch_sub(&references, 1) == 1)
        last = (int)(long)number;
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, drops, (void *)(i + 1));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    if (last == 2)
        abort();
    return 0;
}
