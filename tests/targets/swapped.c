/* A table is exchanged for a larger one: first the pointer, then a byte that says how large it is. A
   reader between the two takes the new table for the old size. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct table {
    int size;
    int entries[4];
};

static struct table small = {1, {10}}, large = {3, {10, 20, 30}};
static _Atomic(struct table *) table = &small;
static _Atomic(unsigned char) size = 1;

static void *grow(void *unused)
{
    (void)unused;
    table = &large;
    size = 3;
    return NULL;
}

static void *read_all(void *unused)
{
    (void)unused;
    struct table *now = table;
    assert(now->size == size);
    return NULL;
}

int main(void)
{
    pthread_t one, two;
    pthread_create(&one, NULL, grow, NULL);
    pthread_create(&two, NULL, read_all, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
