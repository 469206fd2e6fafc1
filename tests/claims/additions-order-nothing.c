// An addition whose result is not used orders nothing: what one thread wrote before is not what another finds after
// an own addition.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_long number;
static int published;
static int seen = -1;

static void *writes(void *amount)
{
    published = 1;
    atomic_fetch_add(&number, (long)amount);
    return NULL;
}

static void *reads(void *amount)
{
    atomic_fetch_add(&number, (long)amount);
    seen = published;
    return NULL;
}

int main(void)
{
    pthread_t one, two;
    pthread_create(&one, NULL, writes, (void *)3);
    pthread_create(&two, NULL, reads, (void *)4);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(number == 7);
    assert(seen == 1);
    return 0;
}
