/* A pool of two threads, which begin together (a barrier), take jobs from a list (a mutex, a condition) until the pool
   is closed, and look at settings (a read-write lock) for each. args: the mistake to plant. */
#include "classic.h"
#include <pthread.h>

enum { WORKERS = 2, JOBS = 2 };

struct pool {
    pthread_mutex_t guard;
    pthread_cond_t changed;
    int jobs, closed, done;
};
static struct pool first_pool = { .guard = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
static struct pool *pool = &first_pool;
static pthread_mutex_t tally = PTHREAD_MUTEX_INITIALIZER, shelf = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t settings;
static pthread_barrier_t begin;
static int setting;

static void look_at_settings(void)
{
    pthread_rwlock_rdlock(&settings);
    if (mistake("read-recursion")) {
        pthread_rwlock_rdlock(&settings);
        pthread_rwlock_unlock(&settings);
    }
    pthread_rwlock_unlock(&settings);
}

static void run_job(void)
{
    look_at_settings();
    pthread_mutex_lock(&tally);
    if (mistake("deadlock"))
        pthread_mutex_lock(&pool->guard);
    pool->done++;
    if (mistake("deadlock"))
        pthread_mutex_unlock(&pool->guard);
    pthread_mutex_unlock(&tally);
}

static void *work(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&begin);
    for (;;) {
        pthread_mutex_lock(&pool->guard);
        while (pool->jobs == 0 && !pool->closed)
            pthread_cond_wait(&pool->changed, mistake("wait-mutex") ? &tally : &pool->guard);
        if (pool->jobs == 0)
            break;
        pool->jobs--;
        if (mistake("self-deadlock"))
            pthread_mutex_lock(&pool->guard);
        pthread_mutex_unlock(&pool->guard);
        run_job();
    }
    pthread_mutex_unlock(&pool->guard);
    if (mistake("unlock-not-held"))
        pthread_mutex_unlock(&pool->guard);
    if (mistake("used-destroyed")) /* before the other worker has left */
        pthread_rwlock_destroy(&settings);
    if (mistake("lock-left-held"))
        pthread_mutex_trylock(&shelf);
    return NULL;
}

static void submit(void)
{
    pthread_mutex_lock(&pool->guard);
    pool->jobs++;
    pthread_cond_signal(&pool->changed);
    pthread_mutex_unlock(&pool->guard);
}

static void close_pool(void)
{
    pthread_mutex_lock(&pool->guard);
    if (mistake("deadlock")) /* looked up with the lock held */
        pthread_mutex_lock(&tally);
    pool->closed = 1;
    if (mistake("deadlock"))
        pthread_mutex_unlock(&tally);
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->guard);
}

int main(int argc, char **argv)
{
    pthread_t thread[WORKERS];
    plant(argc, argv);
    if (mistake("uninitialised")) { /* a copy of what is locked is no lock */
        static struct pool copy;
        pthread_mutex_lock(&first_pool.guard);
        copy = first_pool;
        pthread_mutex_unlock(&first_pool.guard);
        pool = &copy;
    }
    prefer_writers(&settings);
    pthread_barrier_init(&begin, NULL, WORKERS + mistake("barrier-count"));
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < JOBS; i++)
        submit();
    pthread_rwlock_wrlock(&settings);
    setting++;
    pthread_rwlock_unlock(&settings);
    close_pool();
    for (int i = 0; i < WORKERS && !mistake("object-in-use"); i++)
        pthread_join(thread[mistake("thread-misuse") ? 0 : i], NULL);
    pthread_mutex_destroy(&pool->guard);
    return pool->done == JOBS || mistake("object-in-use") ? 0 : 1;
}
