/* A timed wait of ten seconds for an event that takes no time: the program assumes that it never times out. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    struct timespec end;
    int result = 0;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10;
    pthread_create(&thread, NULL, work, NULL);
    pthread_mutex_lock(&guard);
    while (!ready && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&changed, &guard, &end);
    assert(result != ETIMEDOUT);
    pthread_mutex_unlock(&guard);
    pthread_join(thread, NULL);
    return 0;
}
