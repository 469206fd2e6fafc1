// The thread that drops the last reference finds what the others wrote before they dropped theirs.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct shared {
    atomic_int references;
    atomic_long uses;
    int written[3];
};

static struct shared *shared;

static void drop(void)
{
    atomic_fetch_add(&shared->uses, 1);
    if (atomic_fetch_sub(&shared->references, 1) != 1)
        return;
    assert(shared->uses == 3);
    for (int i = 0; i < 3; i++)
        assert(shared->written[i] == i + 1);
    free(shared);
}

static void *uses(void *number)
{
    long i = (long)number;
    shared->written[i] = (int)i + 1;
    drop();
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    shared = calloc(1, sizeof *shared);
    shared->references = 3;
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, uses, (void *)i);
    uses((void *)2);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
