/* One thread frees a global pointer and sets it to null, another uses it if it is not null; with
   -DTWICE both free it. */
#include <pthread.h>
#include <stdlib.h>

static int *volatile shared;

static void *let_go(void *unused)
{
    (void)unused;
    if (shared) {
        free(shared);
        shared = NULL;
    }
    return NULL;
}

#ifdef TWICE
#define other let_go
#else
static void *other(void *unused)
{
    (void)unused;
    if (shared)
        *shared = 1;
    return NULL;
}
#endif

int main(void)
{
    shared = malloc(sizeof *shared);
    pthread_t one, two;
    pthread_create(&one, NULL, let_go, NULL);
    pthread_create(&two, NULL, other, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
