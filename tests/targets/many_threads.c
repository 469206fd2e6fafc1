/* So many threads alive at once as the argument says, at most 512, each with a stack as usual, or of so many megabytes as
   the second argument says: of which only what is touched is there. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
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

/* Megabytes of memory that the process really has. */
static long resident(void)
{
    long all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert(file && fscanf(file, "%ld %ld", &all, &pages) == 2);
    fclose(file);
    return pages >> 8;
}

int main(int argc, char **argv)
{
    static pthread_t thread[MOST];
    int many = argc > 1 ? atoi(argv[1]) : MOST;
    size_t size = argc > 2 ? (size_t)atoi(argv[2]) << 20 : 0;
    pthread_attr_t attributes;
    assert(many <= MOST);
    pthread_attr_init(&attributes);
    if (size)
        assert(pthread_attr_setstacksize(&attributes, size) == 0);
    sem_init(&begun, 0, 0);
    pthread_mutex_lock(&gate);
    for (int i = 0; i < many; i++)
        assert(pthread_create(&thread[i], &attributes, work, NULL) == 0);
    for (int i = 0; i < many; i++)
        sem_wait(&begun);
    assert(resident() < 500);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < many; i++)
        pthread_join(thread[i], NULL);
    assert(done == many);
    return 0;
}
