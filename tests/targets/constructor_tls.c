/* A thread-local that a constructor sets is still set in main, and not in other threads. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

static __thread int initialised_ = 3;
static __thread int zero;

__attribute__((constructor)) static void before_main(void)
{
    initialised_ = 4;
    zero = 5;
}

static void *work(void *unused)
{
    (void)unused;
    assert(initialised_ == 3 && zero == 0);
    initialised_ = 6;
    zero = 7;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    assert(initialised_ == 4 && zero == 5);
    puts("constructor's values kept");
    return 0;
}
