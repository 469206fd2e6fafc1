/* The first thread initialises, exactly once, and the others wait until that is done. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int started, finished;

static void initialise(void)
{
    started++;
    sched_yield();
    finished++;
}

static void *work(void *unused)
{
    (void)unused;
    assert(pthread_once(&once, initialise) == 0);
    assert(started == 1 && finished == 1);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    work(NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
