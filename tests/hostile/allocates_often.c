/* Ten thousand allocations between one step and the next, of many sizes; half of them stay. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
    (void)unused;
    char **last = NULL;
    for (int step = 0; step < 2; step++) {
        pthread_mutex_lock(&mutex);
        for (int i = 0; i < 10000; i++) {
            char *gone = malloc(i % 700);
            char **stays = calloc(1 + i % 5, sizeof *stays);
            if (gone == NULL || stays == NULL || *stays != NULL)
                return NULL;
            *stays = (char *)last;
            last = stays;
            free(gone);
        }
        pthread_mutex_unlock(&mutex);
    }
    return last;
}

int main(void)
{
    pthread_t one, two;
    void *first, *second;
    pthread_create(&one, NULL, work, NULL);
    pthread_create(&two, NULL, work, NULL);
    pthread_join(one, &first);
    pthread_join(two, &second);
    return first == NULL || second == NULL;
}
