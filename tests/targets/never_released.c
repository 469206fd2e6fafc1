/* Two threads take a lock a second time, and never release it. */
#include <pthread.h>

static pthread_mutex_t x = PTHREAD_MUTEX_INITIALIZER, y = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&x);
    pthread_mutex_lock(&y);
    pthread_mutex_unlock(&y);
    pthread_mutex_lock(&x);
    return NULL;
}

int main(void)
{
    pthread_t one, two;
    pthread_create(&one, NULL, work, NULL);
    pthread_create(&two, NULL, work, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
