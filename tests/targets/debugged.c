/* Two threads count under a lock, but read and write under separate ones: an update can be lost. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static __thread int tls_id;

static int bump(int id, int i)
{
    pthread_mutex_lock(&lock);
    int before = counter;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    counter = before + 1;
    pthread_mutex_unlock(&lock);
    return i + id;
}

static void *worker(void *arg)
{
    tls_id = (int)(long)arg;
    char name[16];
    snprintf(name, sizeof name, "worker-%d", tls_id);
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < 3; i++)
        bump(tls_id, i);
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
