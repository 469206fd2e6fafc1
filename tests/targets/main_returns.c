/* main returns while one thread works and another waits forever: the process ends, and that is no failure. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>

static sem_t never;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *waits(void *unused)
{
    (void)unused;
    sem_wait(&never);
    abort();
}

static void *works(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&guard);
        count++;
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    sem_init(&never, 0, 0);
    pthread_create(&thread[0], NULL, waits, NULL);
    pthread_create(&thread[1], NULL, works, NULL);
    return 0;
}
