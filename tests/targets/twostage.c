/* Two values that belong together, each under its own lock: between the two stages of the writer, a reader
   sees the new one and the old one. args: writers, and any further argument to create the reader first. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t first_guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second_guard = PTHREAD_MUTEX_INITIALIZER;
static int first, second;

static void *writer(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&first_guard);
    first = 1;
    pthread_mutex_unlock(&first_guard);
    pthread_mutex_lock(&second_guard);
    second = first + 1;
    pthread_mutex_unlock(&second_guard);
    return NULL;
}

static void *reader(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&first_guard);
    int one = first;
    pthread_mutex_unlock(&first_guard);
    if (one == 0)
        return NULL;
    pthread_mutex_lock(&second_guard);
    int two = second;
    pthread_mutex_unlock(&second_guard);
    assert(two == one + 1);
    return NULL;
}

int main(int argc, char **argv)
{
    int writers = argc > 1 ? atoi(argv[1]) : 1;
    int reader_first = argc > 2;
    pthread_t w[128], r;
    if (reader_first)
        pthread_create(&r, NULL, reader, NULL);
    for (int i = 0; i < writers; i++)
        pthread_create(&w[i], NULL, writer, NULL);
    if (!reader_first)
        pthread_create(&r, NULL, reader, NULL);
    for (int i = 0; i < writers; i++)
        pthread_join(w[i], NULL);
    pthread_join(r, NULL);
    return 0;
}
