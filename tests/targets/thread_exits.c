/* A thread ends the whole process by exit(0), while main waits for another that never ends. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>

static sem_t never;

static void *waits(void *unused)
{
    (void)unused;
    sem_wait(&never);
    return NULL;
}

static void *exits(void *unused)
{
    (void)unused;
    exit(0);
}

int main(void)
{
    pthread_t waiting, exiting;
    sem_init(&never, 0, 0);
    pthread_create(&waiting, NULL, waits, NULL);
    pthread_create(&exiting, NULL, exits, NULL);
    pthread_join(waiting, NULL);
    return 1;
}
