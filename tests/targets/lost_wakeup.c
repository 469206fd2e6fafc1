/* The waiter tests the flag before it takes the lock. A signal in between wakes no task, and none follows. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int ready;

static void *waiter(void *unused)
{
    (void)unused;
    if (!ready) {
        pthread_mutex_lock(&guard);
        pthread_cond_wait(&changed, &guard);
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    pthread_mutex_lock(&guard);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&guard);
    pthread_join(thread, NULL);
    return 0;
}
