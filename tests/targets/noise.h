/* For -include: with -DNOISE=n each thread first takes and releases a private
 * lock n times, so that a later failure is at the end of a long execution. */
#include <pthread.h>
#include <stdlib.h>

struct noisy {
    void *(*body)(void *);
    void *argument;
};

static void *make_noise(void *given)
{
    struct noisy noisy = *(struct noisy *)given;
    free(given);
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < NOISE; i++) {
        pthread_mutex_lock(&own);
        pthread_mutex_unlock(&own);
    }
    return noisy.body(noisy.argument);
}

static int create_noisy(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                        void *argument)
{
    struct noisy *noisy = malloc(sizeof *noisy);
    noisy->body = body;
    noisy->argument = argument;
    return pthread_create(thread, attributes, make_noise, noisy);
}

#define pthread_create create_noisy
