/* A pool of threads: a worker that finds no task tests again whether the pool is shut down, without
 * the lock, and then waits; the shutdown may run in between and wake no task. args: workers, tasks. */
#include <pthread.h>
#include <stdlib.h>

enum { MOST = 8 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int tasks, closed;

static int is_closed(void)
{
    pthread_mutex_lock(&guard);
    int answer = closed;
    pthread_mutex_unlock(&guard);
    return answer;
}

static void *work(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&guard);
        int got = tasks > 0;
        tasks -= got;
        pthread_mutex_unlock(&guard);
        if (got)
            continue;
        if (is_closed())
            return NULL;
        pthread_mutex_lock(&guard);
        if (tasks == 0)
            pthread_cond_wait(&changed, &guard);
        pthread_mutex_unlock(&guard);
    }
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? atoi(argv[1]) : 2;
    int count = argc > 2 ? atoi(argv[2]) : 5;
    pthread_t thread[MOST];
    for (int i = 0; i < workers; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < count; i++) {
        pthread_mutex_lock(&guard);
        tasks++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&guard);
    }
    pthread_mutex_lock(&guard);
    closed = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&guard);
    for (int i = 0; i < workers; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
