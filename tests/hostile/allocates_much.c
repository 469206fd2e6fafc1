/* Requests more memory than can exist: the request fails, and nothing else changes. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *work(void *unused)
{
    (void)unused;
    char *kept = malloc(100);
    if (kept == NULL)
        return NULL;
    strcpy(kept, "kept");
    volatile size_t size = SIZE_MAX / 2;
    errno = 0;
    if (malloc(size) != NULL || errno != ENOMEM || calloc(size, 4) != NULL)
        return NULL;
    if (realloc(kept, size) != NULL || strcmp(kept, "kept") != 0)
        return NULL;
    /* More than an address space has; every step is one that some systems grant. */
    void *last = kept;
    for (int i = 0; i < 1 << 12 && last != NULL; i++)
        last = malloc((size_t)1 << 38);
    if (last != NULL)
        return NULL;
    free(kept);
    kept = malloc(100);
    return kept;
}

int main(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, &result);
    return result == NULL;
}
