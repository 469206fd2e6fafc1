/* Two threads take a lock in any order, after thousands of steps of one of them: each order that a
   search reverses is as long. */
#include <pthread.h>
#include <stddef.h>

enum { STEPS = 2500, TIMES = 12 };

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

static void take(void)
{
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&shared);
        pthread_mutex_unlock(&shared);
    }
}

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < STEPS; i++) {
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
    }
    take();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    take();
    pthread_join(thread, NULL);
    return 0;
}
