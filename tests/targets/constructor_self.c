/* pthread_self() and the address of a thread-local, as a constructor saw them, are those of main; others differ. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

static __thread int own;
static pthread_t early;
static int *early_own;

__attribute__((constructor)) static void before_main(void)
{
    early = pthread_self();
    early_own = &own;
}

static void *work(void *unused)
{
    (void)unused;
    assert(!pthread_equal(early, pthread_self()));
    assert(&own != early_own);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    assert(pthread_equal(early, pthread_self()));
    assert(&own == early_own);
    pthread_create(&thread, NULL, work, NULL);
    assert(!pthread_equal(thread, early));
    pthread_join(thread, NULL);
    assert(pthread_equal(early, pthread_self()));
    puts("the same thread");
    return 0;
}
