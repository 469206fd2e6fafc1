/* Two values that belong together, each under its own lock: between the two stages of the writer a reader sees one
   that is new and one that is old. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

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

int main(void)
{
    pthread_t w, r;
    pthread_create(&w, NULL, writer, NULL);
    pthread_create(&r, NULL, reader, NULL);
    pthread_join(w, NULL);
    pthread_join(r, NULL);
    return 0;
}
