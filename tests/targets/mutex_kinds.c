/* Recursive and error-checking mutexes behave and return errors as specified. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t recursive, checking, plain = PTHREAD_MUTEX_INITIALIZER;

static void init(pthread_mutex_t *mutex, int kind)
{
    pthread_mutexattr_t attributes;
    assert(pthread_mutexattr_init(&attributes) == 0);
    assert(pthread_mutexattr_settype(&attributes, kind) == 0);
    assert(pthread_mutex_init(mutex, &attributes) == 0);
    assert(pthread_mutexattr_destroy(&attributes) == 0);
}

static void *other(void *unused)
{
    (void)unused;
    /* Main holds all three. */
    assert(pthread_mutex_trylock(&recursive) == EBUSY);
    assert(pthread_mutex_trylock(&checking) == EBUSY);
    assert(pthread_mutex_trylock(&plain) == EBUSY);
    assert(pthread_mutex_unlock(&recursive) == EPERM);
    assert(pthread_mutex_unlock(&checking) == EPERM);
    return NULL;
}

static void *taker(void *unused)
{
    (void)unused;
    assert(pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_unlock(&recursive) == 0);
    assert(pthread_mutex_unlock(&recursive) == 0);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    init(&recursive, PTHREAD_MUTEX_RECURSIVE);
    init(&checking, PTHREAD_MUTEX_ERRORCHECK);

    assert(pthread_mutex_unlock(&checking) == EPERM);
    assert(pthread_mutex_lock(&checking) == 0);
    assert(pthread_mutex_lock(&checking) == EDEADLK);
    assert(pthread_mutex_trylock(&checking) == EBUSY);
    assert(pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_trylock(&recursive) == 0);
    assert(pthread_mutex_lock(&plain) == 0);

    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);

    /* Held until it was released as often as it was locked. */
    pthread_create(&thread, NULL, taker, NULL);
    for (int i = 0; i < 3; i++)
        assert(pthread_mutex_unlock(&recursive) == 0);
    assert(pthread_mutex_unlock(&checking) == 0);
    assert(pthread_mutex_unlock(&plain) == 0);
    pthread_join(thread, NULL);
    assert(pthread_mutex_unlock(&recursive) == EPERM);
    assert(pthread_mutex_destroy(&recursive) == 0);
    assert(pthread_mutex_destroy(&checking) == 0);
    return 0;
}
