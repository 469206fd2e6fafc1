/* A thread made by a constructor: joined before main begins, or (-DSTAYS) still there then. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static pthread_t early;
static sem_t leave;
static int ran;

static void *work(void *unused)
{
    (void)unused;
#ifdef STAYS
    sem_wait(&leave);
#endif
    ran = 1;
    return NULL;
}

__attribute__((constructor)) static void start(void)
{
    sem_init(&leave, 0, 0);
    if (pthread_create(&early, NULL, work, NULL) != 0)
        abort();
#ifndef STAYS
    pthread_join(early, NULL);
#endif
}

int main(void)
{
#ifdef STAYS
    sem_post(&leave);
    pthread_join(early, NULL);
#endif
    return ran ? 0 : 1;
}
