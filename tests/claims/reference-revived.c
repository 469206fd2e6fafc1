// An increment from a dropped reference: the counter is positive again, and is dropped for a second time.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_long references = 2;
static atomic_int freed;

static void drop(void)
{
    if (atomic_fetch_sub(&references, 1) == 1)
        assert(freed++ == 0);
}

static void *drops(void *unused)
{
    drop();
    return unused;
}

static void *revives(void *unused)
{
    atomic_fetch_add(&references, 1);
    drop();
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, drops, NULL);
    pthread_create(&threads[1], NULL, drops, NULL);
    pthread_create(&threads[2], NULL, revives, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
