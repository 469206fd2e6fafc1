/* An update that is lost on a path that few schedules take:
 * if two threads reached a lock in one certain order of 252. */
#include <assert.h>
#include <pthread.h>

enum { TURNS = 5, ORDER = 0x1a5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static int order = 1;
// Volatile: or the compiler adds a condition that is 0 or 1, on every path.
static volatile int updates;

static void *run(void *who)
{
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&lock);
        order = order << 1 | (who != NULL);
        pthread_mutex_unlock(&lock);
    }
    pthread_barrier_wait(&both);
    if ((order & 0x3ff) == ORDER)
        updates++;
    return NULL;
}

int main(void)
{
    pthread_barrier_init(&both, NULL, 2);
    pthread_t thread[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, run, i ? &both : NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert(updates != 1);
    return 0;
}
