/* Two threads count to six. Every access is under the lock, but a thread reads and writes the counter
 * under two separate acquisitions, so an update of the other thread in between is lost.
 *
 * `make FIXED=1` builds the corrected version: one acquisition for both. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static int bump(int id, int i)
{
    pthread_mutex_lock(&lock);
    int before = counter;
#ifndef FIXED
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
#endif
    counter = before + 1;
    pthread_mutex_unlock(&lock);
    return i + id;
}

static void *worker(void *arg)
{
    int id = (int)(long)arg;
    char name[16];
    snprintf(name, sizeof name, "worker-%d", id);
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < 3; i++)
        bump(id, i);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("counter %d\n", counter);
    return counter == 6 ? 0 : 7;
}
