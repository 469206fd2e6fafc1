// A decrement that leaves the counter positive orders nothing: what one thread wrote before is not what another
// finds after an own decrement.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_long references = 3;
static int published;
static int seen = -1;

static int drop(void)
{
    return atomic_fetch_sub(&references, 1) == 1;
}

static void *writes(void *unused)
{
    (void)unused;
    published = 1;
    drop();
    return NULL;
}

static void *reads(void *unused)
{
    (void)unused;
    drop();
    seen = published;
    return NULL;
}

int main(void)
{
    pthread_t one, two;
    pthread_create(&one, NULL, writes, NULL);
    pthread_create(&two, NULL, reads, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(seen == 1);
    return 0;
}
