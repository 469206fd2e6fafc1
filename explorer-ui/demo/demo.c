/* Two workers empty a queue. Every access to the queue holds its lock, but another worker can take
 * the last job between have_jobs() and take_job(). The failure is rare: it needs one preemption. */

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static int jobs[] = {10, 20, 30};
static int queued = 3;

static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static bool have_jobs(void)
{
    pthread_mutex_lock(&queue_lock);
    bool have = queued > 0;
    pthread_mutex_unlock(&queue_lock);
    return have;
}

static int take_job(void)
{
    pthread_mutex_lock(&queue_lock);
    assert(queued > 0); /* the caller called have_jobs() */
    int job = jobs[--queued];
    pthread_mutex_unlock(&queue_lock);
    return job;
}

static void *worker(void *unused)
{
    while (have_jobs()) {
        int job = take_job();
        pthread_mutex_lock(&sum_lock);
        sum += job;
        pthread_mutex_unlock(&sum_lock);
    }
    return unused;
}

int main(void)
{
    pthread_t workers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    printf("all jobs done: %d\n", sum);
    return 0;
}
