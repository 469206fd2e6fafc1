/* A function that takes a lock calls another that takes it again. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int level;

static void refill(void)
{
    pthread_mutex_lock(&guard);
    level = 10;
    pthread_mutex_unlock(&guard);
}

static void *draw(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    if (level == 0)
        refill();
    level--;
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, draw, NULL);
    pthread_join(thread, NULL);
    return 0;
}
