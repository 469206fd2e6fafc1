/* Handlers for a fork that never comes: registering them is harmless. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static void handler(void)
{
    abort();
}

static void *work(void *unused)
{
    (void)unused;
    assert(pthread_atfork(handler, handler, handler) == 0);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    assert(pthread_atfork(handler, NULL, handler) == 0);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
