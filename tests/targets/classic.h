/* What the classic programs in C and C++ share: the argument says which mistake is planted in them; without one they
   are right. */
#include <pthread.h>
#include <string.h>

static const char *planted = "";

static inline void plant(int argc, char **argv)
{
    if (argc > 1)
        planted = argv[1];
}

static inline int mistake(const char *name)
{
    return strcmp(planted, name) == 0;
}

/* A reader waits as soon as a writer does: so it may not read twice. */
static inline void prefer_writers(void *lock)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init((pthread_rwlock_t *)lock, &attributes);
}
