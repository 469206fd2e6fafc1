/* A scanner of files counts its active workers, and the last one signals main. The count
 * is set while they run already, so that a worker that ends before is never counted. */
#include <pthread.h>

enum { WORKERS = 2 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int active;

static void *scan(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    active--;
    if (active == 0)
        pthread_cond_signal(&done);
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    pthread_t thread[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&thread[i], NULL, scan, NULL);
    pthread_mutex_lock(&guard);
    active = WORKERS;
    while (active != 0)
        pthread_cond_wait(&done, &guard);
    pthread_mutex_unlock(&guard);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
