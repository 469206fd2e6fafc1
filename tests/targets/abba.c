/* Two locks taken in opposite order. With -DMAIN_SIDE one of the two sides is main. */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static int both;

static void *forward(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    both++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return NULL;
}

static void *backward(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    both++;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return NULL;
}

int main(void)
{
    pthread_t first;
    pthread_create(&first, NULL, forward, NULL);
#ifdef MAIN_SIDE
    backward(NULL);
#else
    pthread_t second;
    pthread_create(&second, NULL, backward, NULL);
    pthread_join(second, NULL);
#endif
    pthread_join(first, NULL);
    return both == 2 ? 0 : 1;
}
