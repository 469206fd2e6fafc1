#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static atomic_int also;

static void *setter(void *unused)
{
    (void)unused;
    usleep(5000);
    also = 1;
    usleep(5000);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, setter, NULL);
    for (;;) {
        pthread_mutex_lock(&lock);
        int is_ready = ready;
        pthread_mutex_unlock(&lock);
        if (is_ready && also)
            break;
        sched_yield();
    }
    pthread_join(thread, NULL);
    return 0;
}
