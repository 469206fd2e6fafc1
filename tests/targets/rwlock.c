/* Readers and a writer on a read-write lock. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
static int one, two;

static void *reader(void *unused)
{
    (void)unused;
    assert(pthread_rwlock_rdlock(&guard) == 0);
    assert(one == two);
    assert(pthread_rwlock_unlock(&guard) == 0);
    return NULL;
}

static void *writer(void *unused)
{
    (void)unused;
    assert(pthread_rwlock_wrlock(&guard) == 0);
    one++;
    two++;
    assert(pthread_rwlock_unlock(&guard) == 0);
    return NULL;
}

int main(void)
{
    pthread_t thread[3];
    pthread_create(&thread[0], NULL, reader, NULL);
    pthread_create(&thread[1], NULL, writer, NULL);
    pthread_create(&thread[2], NULL, reader, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
