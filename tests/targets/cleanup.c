/* pthread_exit deep inside a thread: cleanup handlers run innermost first, then the destructors of keys, which may
   set keys again. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_key_t key;
static int rounds;

static void say(void *what)
{
    printf("cleanup %s\n", (char *)what);
}

static void destroy(void *value)
{
    printf("destructor %s\n", (char *)value);
    if (++rounds == 1)
        pthread_setspecific(key, "again");
}

static void deep(void)
{
    pthread_cleanup_push(say, "inner");
    pthread_exit("result");
    pthread_cleanup_pop(0);
}

static void *work(void *unused)
{
    (void)unused;
    pthread_setspecific(key, "once");
    pthread_cleanup_push(say, "outer");
    pthread_cleanup_push(say, "popped and run");
    pthread_cleanup_pop(1);
    pthread_cleanup_push(say, "popped and not run");
    pthread_cleanup_pop(0);
    deep();
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    void *result = NULL;
    assert(pthread_key_create(&key, destroy) == 0);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, &result);
    printf("joined: %s\n", (char *)result);
    assert(pthread_getspecific(key) == NULL);
    return 0;
}
