/* A consumer that runs before the producer continues without an item, unless work has accumulated. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { MANY = 2 };

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int waiting;
static int *connection;
static int only;

static void *ask(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    waiting++;
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *connect_(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    connection = &only;
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *serve(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    if (waiting == MANY)
        assert(connection != NULL);
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    pthread_t thread[MANY + 2];
    for (int i = 0; i < MANY; i++)
        pthread_create(&thread[i], NULL, ask, NULL);
    pthread_create(&thread[MANY], NULL, connect_, NULL);
    pthread_create(&thread[MANY + 1], NULL, serve, NULL);
    for (int i = 0; i < MANY + 2; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
