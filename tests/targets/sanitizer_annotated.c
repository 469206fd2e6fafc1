/* Memory that two threads use without synchronization visible to the sanitizer,
 * and the program's annotations about that: only the last is a race. */
#include <pthread.h>
#include <stddef.h>

extern void AnnotateHappensBefore(const char *, int, const volatile void *);
extern void AnnotateHappensAfter(const char *, int, const volatile void *);
extern void AnnotateIgnoreReadsBegin(const char *, int);
extern void AnnotateIgnoreReadsEnd(const char *, int);
extern void AnnotateIgnoreWritesBegin(const char *, int);
extern void AnnotateIgnoreWritesEnd(const char *, int);
extern void AnnotateBenignRaceSized(const char *, int, const volatile void *, size_t, const char *);
extern void __tsan_acquire(void *);
extern void __tsan_release(void *);
extern void *__tsan_get_current_fiber(void);
extern void *__tsan_create_fiber(unsigned);
extern void __tsan_switch_to_fiber(void *, unsigned);
extern void __tsan_destroy_fiber(void *);

#define HERE __FILE__, __LINE__
static volatile int announced, named, read_only, meant, benign[4], unmeant;

__attribute__((no_sanitize_thread)) static int is_set(volatile int *flag)
{
    return *flag;
}

static void *other(void *arg)
{
    static volatile int sum;
    if (is_set(&announced)) {
        AnnotateHappensAfter(HERE, &announced);
        sum += named;
        __tsan_acquire((void *)&named);
    }
    AnnotateIgnoreReadsBegin(HERE);
    sum += read_only;
    AnnotateIgnoreReadsEnd(HERE);
    meant = 2;
    benign[3]++;
    unmeant = 2;
    return arg;
}

__attribute__((no_sanitize_thread)) static void set(volatile int *flag)
{
    *flag = 1;
}

int main(void)
{
    pthread_t thread;
    void *mine = __tsan_get_current_fiber(), *coroutine = __tsan_create_fiber(0);
    AnnotateBenignRaceSized(HERE, benign, sizeof benign, "counts roughly");
    pthread_create(&thread, NULL, other, NULL);
    __tsan_switch_to_fiber(coroutine, 0);
    named = 1;
    __tsan_release((void *)&named);
    AnnotateHappensBefore(HERE, &announced);
    set(&announced);
    __tsan_switch_to_fiber(mine, 0);
    __tsan_destroy_fiber(coroutine);
    read_only = 1;
    AnnotateIgnoreWritesBegin(HERE);
    meant = 1;
    AnnotateIgnoreWritesEnd(HERE);
    benign[3]++;
    unmeant = 1;
    pthread_join(thread, NULL);
    return 0;
}
