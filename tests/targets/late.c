/* One thread provides a value, another uses it, and nothing orders the two. The failure if the
   value is used first depends on the build: a null pointer dereference, an abort, or exit status 3. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int value = 7;
static int *volatile shared;

static void *provide(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    shared = &value;
    pthread_mutex_unlock(&guard);
    return NULL;
}

static void *use(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    int *seen = shared;
    pthread_mutex_unlock(&guard);
#if defined(ABORT)
    if (!seen)
        abort();
#elif defined(EXIT)
    if (!seen)
        exit(3);
#endif
    *(volatile int *)seen += 1;
    return NULL;
}

int main(void)
{
    pthread_t provider, user;
    pthread_create(&provider, NULL, provide, NULL);
    pthread_create(&user, NULL, use, NULL);
    pthread_join(provider, NULL);
    pthread_join(user, NULL);
    return 0;
}
