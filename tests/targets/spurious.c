/* A wait for a condition that one thread signals once. The waiter tests it again
 * afterwards; with -DIF_WAIT it does not, which is right only without spurious wake-ups. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifdef IF_WAIT
#define UNTIL if
#else
#define UNTIL while
#endif

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *await(void *unused)
{
    pthread_mutex_lock(&guard);
    UNTIL (!ready)
        pthread_cond_wait(&changed, &guard);
    assert(ready);
    pthread_mutex_unlock(&guard);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, await, NULL);
    pthread_mutex_lock(&guard);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&guard);
    pthread_join(thread, NULL);
    return 0;
}
