#include <pthread.h>
#include <stdlib.h>
/* An endless loop over private memory: it makes no call and waits for no task. */
static volatile long *count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long turn;
static void *work(void *arg)
{
    pthread_mutex_lock(&lock);
    long mine = ++turn;
    pthread_mutex_unlock(&lock);
    if (arg && mine == 1)
        for (long i = 0;; i++)
            count[i % 1000]++;
    return NULL;
}
int main(void)
{
    pthread_t thread;
    count = calloc(1000, sizeof *count);
    pthread_create(&thread, NULL, work, (void *)1);
    work(NULL);
    pthread_join(thread, NULL);
}
