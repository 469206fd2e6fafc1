/* Included before a program by the compiler (-include). If the environment has ORDER=2,0,1, the first
 * three threads are created when the program creates the third one, in that order: the third one first. */
#include <pthread.h>
#include <stdlib.h>

enum { MOST_THREADS = 128 };

struct creation {
    pthread_t *thread;
    const pthread_attr_t *attributes;
    void *(*run)(void *);
    void *argument;
};

static inline int create_in_another_order(pthread_t *thread, const pthread_attr_t *attributes,
                                          void *(*run)(void *), void *argument)
{
    static struct creation asked[MOST_THREADS];
    static int count;
    int order[MOST_THREADS], threads = 0, failed = 0;
    const char *text = getenv("ORDER");
    while (text && *text && threads < MOST_THREADS) {
        char *end;
        order[threads++] = strtol(text, &end, 10);
        text = *end ? end + 1 : end;
    }
    if (count >= threads)
        return pthread_create(thread, attributes, run, argument);
    asked[count++] = (struct creation){thread, attributes, run, argument};
    for (int i = 0; count == threads && i < threads; i++) {
        struct creation *one = &asked[order[i]];
        failed |= pthread_create(one->thread, one->attributes, one->run, one->argument);
    }
    return failed;
}

#define pthread_create create_in_another_order
