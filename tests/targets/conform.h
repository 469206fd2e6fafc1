/* Shared by the programs that check the standard sentence by sentence. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static int failures;

#define CHECK(want, call)                                                                  \
    do {                                                                                   \
        long got_ = (long)(call), want_ = (long)(want);                                    \
        if (got_ != want_) {                                                               \
            printf("%s:%d: %s is %ld, not %ld\n", __FILE__, __LINE__, #call, got_, want_); \
            failures++;                                                                    \
        }                                                                                  \
    } while (0)

static inline void *run_in_thread(void *(*work)(void *), void *argument)
{
    pthread_t thread;
    void *result;
    CHECK(0, pthread_create(&thread, NULL, work, argument));
    CHECK(0, pthread_join(thread, &result));
    return result;
}

static inline struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms % 1000 * 1000000;
    t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* The exit status of main. */
static inline int conforms(void)
{
    if (failures == 0)
        puts("as the standard says");
    return failures != 0;
}
