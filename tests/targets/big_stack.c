/* A thread that asked for a large stack gets it, and can use it; another runs on memory that the program gave. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LARGE ((size_t)64 << 20)
#define USED ((size_t)48 << 20)
#define OWN ((size_t)256 << 10)

static char *own;

static void *large(void *unused)
{
    (void)unused;
    pthread_attr_t attributes;
    void *low;
    size_t size;
    assert(pthread_getattr_np(pthread_self(), &attributes) == 0);
    assert(pthread_attr_getstack(&attributes, &low, &size) == 0);
    assert(size >= USED && (char *)&size > (char *)low && (char *)&size < (char *)low + size);
    pthread_attr_destroy(&attributes);
    volatile char space[USED];
    for (size_t i = 0; i < USED; i += 4096)
        space[USED - 1 - i] = 1;
    return (void *)(intptr_t)space[USED - 1];
}

static void *given(void *unused)
{
    char here[1024];
    (void)unused;
    memset(here, 1, sizeof here);
    assert(here >= own && here + sizeof here <= own + OWN);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *result = NULL;
    pthread_attr_init(&attributes);
    assert(pthread_attr_setstacksize(&attributes, LARGE) == 0);
    assert(pthread_create(&thread, &attributes, large, NULL) == 0);
    pthread_join(thread, &result);
    assert(result == (void *)1);
    pthread_attr_destroy(&attributes);

    own = aligned_alloc(4096, OWN);
    pthread_attr_init(&attributes);
    assert(own && pthread_attr_setstack(&attributes, own, OWN) == 0);
    assert(pthread_create(&thread, &attributes, given, NULL) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    free(own);
    return 0;
}
