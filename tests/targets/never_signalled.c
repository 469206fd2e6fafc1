/* Two threads fill and empty a stock. It begins at 1, and is signalled only when it leaves 0; the
   thread that waits for it to be empty prevents that. args: rounds. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t empty = PTHREAD_COND_INITIALIZER, full = PTHREAD_COND_INITIALIZER;
static int stock = 1, rounds = 1;

static void *fill(void *unused)
{
    (void)unused;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&guard);
        while (stock > 0)
            pthread_cond_wait(&empty, &guard);
        stock++;
        pthread_mutex_unlock(&guard);
        pthread_cond_signal(&full);
    }
    return NULL;
}

static void *drain(void *unused)
{
    (void)unused;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&guard);
        while (stock <= 1)
            pthread_cond_wait(&full, &guard);
        stock--;
        pthread_mutex_unlock(&guard);
        pthread_cond_signal(&empty);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t one, two;
    pthread_create(&one, NULL, fill, NULL);
    pthread_create(&two, NULL, drain, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
