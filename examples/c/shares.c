/* A consumer divides by the number of shares, which it has compared with zero before. A producer may set
 * the number to zero in between. Two loggers do not matter for the mistake.
 *
 * `make FIXED=1 shares` builds the corrected version, in which each of the two holds a lock. */
#include <pthread.h>
#include <stdio.h>

static volatile int shares = 4, part;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int lines;

#ifdef FIXED
static pthread_mutex_t shares_lock = PTHREAD_MUTEX_INITIALIZER;
#define LOCK() pthread_mutex_lock(&shares_lock)
#define UNLOCK() pthread_mutex_unlock(&shares_lock)
#else
#define LOCK() (void)0
#define UNLOCK() (void)0
#endif

static void *consumer(void *unused)
{
    LOCK();
    if (shares != 0)
        part = 100 / shares;
    UNLOCK();
    return unused;
}

static void *producer(void *unused)
{
    LOCK();
    shares = 0;
    shares = 5;
    UNLOCK();
    return unused;
}

static void *logger(void *unused)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&log_lock);
        lines++;
        pthread_mutex_unlock(&log_lock);
    }
    return unused;
}

int main(void)
{
    void *(*work[4])(void *) = {consumer, producer, logger, logger};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work[i], NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", part);
    return 0;
}
