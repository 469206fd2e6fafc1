/* So many threads alive at once as the argument says, at most 512, each with a stack as usual. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>

#define MOST 512

static sem_t begun;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *work(void *unused)
{
    sem_post(&begun);
    pthread_mutex_lock(&gate);
    done++;
    pthread_mutex_unlock(&gate);
    return unused;
}

int main(int argc, char **argv)
{
    static pthread_t thread[MOST];
    int many = argc > 1 ? atoi(argv[1]) : MOST;
    assert(many <= MOST);
    sem_init(&begun, 0, 0);
    pthread_mutex_lock(&gate);
    for (int i = 0; i < many; i++)
        assert(pthread_create(&thread[i], NULL, work, NULL) == 0);
    for (int i = 0; i < many; i++)
        sem_wait(&begun);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < many; i++)
        pthread_join(thread[i], NULL);
    assert(done == many);
    return 0;
}
