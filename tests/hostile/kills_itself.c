/* Its own SIGKILL, if the other thread was first. */
#include <pthread.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first;

static void *work(void *number)
{
    pthread_mutex_lock(&lock);
    if (first == 0)
        first = (int)(long)number;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, (void *)2);
    work((void *)1);
    pthread_join(thread, NULL);
    if (first == 2)
        raise(SIGKILL);
    return 0;
}
