/* Closes every descriptor, as daemons do, and continues. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t thread;
    for (int descriptor = 0; descriptor < 1024; descriptor++)
        close(descriptor);
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    pthread_join(thread, NULL);
    return count == 2 ? 0 : 1;
}
