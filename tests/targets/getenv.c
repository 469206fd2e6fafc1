/* Threads read the environment, and one of them changes it, under a lock. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void *reader(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    const char *value = getenv("TARGET_COLOUR");
    assert(value && (strcmp(value, "blue") == 0 || strcmp(value, "green") == 0));
    pthread_mutex_unlock(&guard);
    assert(getenv("TARGET_HAS_NO_SUCH_VARIABLE") == NULL);
    return NULL;
}

static void *writer(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&guard);
    assert(setenv("TARGET_COLOUR", "green", 1) == 0);
    pthread_mutex_unlock(&guard);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    /* Also if an earlier execution has left a value. */
    assert(getenv("TARGET_COLOUR") == NULL);
    assert(setenv("TARGET_COLOUR", "blue", 1) == 0);
    pthread_create(&thread[0], NULL, reader, NULL);
    pthread_create(&thread[1], NULL, writer, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    printf("%s\n", getenv("TARGET_COLOUR"));
    return 0;
}
