/* pthread_create is found in the C library itself, as allocators with background threads find it. */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>

typedef int creator(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static int shared;

static void *increment(void *unused)
{
    int read_value = shared;
    shared = read_value + 1;
    return unused;
}

int main(void)
{
    void *library = dlopen("libc.so.6", RTLD_NOW);
    creator *create = (creator *)dlsym(library, "pthread_create");
    assert(create);
    pthread_t one, two;
    assert(create(&one, NULL, increment, NULL) == 0);
    assert(create(&two, NULL, increment, NULL) == 0);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(shared == 2);
    return 0;
}
