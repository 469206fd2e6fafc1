/* Threads that are not joined: one created detached, one that detaches itself, one detached by its creator. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t done;

static void *work(void *detach)
{
    if (detach)
        assert(pthread_detach(pthread_self()) == 0);
    sem_post(&done);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sem_init(&done, 0, 0);
    pthread_attr_init(&attributes);
    assert(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
    assert(pthread_create(&thread, &attributes, work, NULL) == 0);
    pthread_attr_destroy(&attributes);
    assert(pthread_create(&thread, NULL, work, &done) == 0);
    assert(pthread_create(&thread, NULL, work, NULL) == 0);
    assert(pthread_detach(thread) == 0);
    for (int i = 0; i < 3; i++)
        sem_wait(&done);
    return 0;
}
