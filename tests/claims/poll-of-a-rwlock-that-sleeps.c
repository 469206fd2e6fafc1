#include <pthread.h>
#include <unistd.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int ready;

static void *setter(void *unused)
{
    (void)unused;
    usleep(5000);
    pthread_rwlock_wrlock(&lock);
    ready = 1;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, setter, NULL);
    for (;;) {
        pthread_rwlock_rdlock(&lock);
        int is_ready = ready;
        pthread_rwlock_unlock(&lock);
        if (is_ready)
            break;
        usleep(1000);
    }
    pthread_join(thread, NULL);
    return 0;
}
