/* Two locks in opposite order, but the second is taken by trylock, and a failure is not retried:
   neither a deadlock nor a livelock. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t count_guard = PTHREAD_MUTEX_INITIALIZER;
static int done, given_up;

static void *work(void *argument)
{
    pthread_mutex_t *mine = argument;
    pthread_mutex_t *other = mine == &lock[0] ? &lock[1] : &lock[0];
    pthread_mutex_lock(mine);
    int result = pthread_mutex_trylock(other);
    assert(result == 0 || result == EBUSY);
    if (result == 0)
        pthread_mutex_unlock(other);
    pthread_mutex_unlock(mine);
    pthread_mutex_lock(&count_guard);
    if (result == 0)
        done++;
    else
        given_up++;
    pthread_mutex_unlock(&count_guard);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, &lock[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert(done + given_up == 2);
    return 0;
}
