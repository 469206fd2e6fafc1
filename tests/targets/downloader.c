/* Workers fetch parts of a file and count the bytes; a reporter of progress resets the count of the
   moment and adds it to the sum. The count has no lock. args: workers. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { PART = 100, MOST = 16 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static volatile long just_now;
static long sum;

static void *fetch(void *unused)
{
    (void)unused;
    just_now += PART;
    return NULL;
}

static void *report(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    sum += just_now;
    just_now = 0;
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t thread[MOST], reporter;
    pthread_create(&reporter, NULL, report, NULL);
    for (int i = 0; i < workers; i++)
        pthread_create(&thread[i], NULL, fetch, NULL);
    for (int i = 0; i < workers; i++)
        pthread_join(thread[i], NULL);
    pthread_join(reporter, NULL);
    assert(sum + just_now == (long)workers * PART);
    return 0;
}
