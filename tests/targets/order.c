/* Three threads under one lock: one adds 1, one adds 2, and the last asserts that it never sees the
   sum. With -DFIXED the assertion is correct. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifdef FIXED
#define LIMIT 4
#else
#define LIMIT 3
#endif

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *one(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    sum += 1;
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *two(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    sum += 2;
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *check(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    assert(sum < LIMIT);
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    pthread_t thread[3];
    pthread_create(&thread[0], NULL, one, NULL);
    pthread_create(&thread[1], NULL, two, NULL);
    pthread_create(&thread[2], NULL, check, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
