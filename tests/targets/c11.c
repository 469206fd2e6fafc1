/* The threads of C11: thrd, mtx, cnd, tss, call_once. */
#include <assert.h>
#include <threads.h>

static mtx_t guard;
static cnd_t changed;
static tss_t key;
static once_flag once = ONCE_FLAG_INIT;
static int ready, initialised, destroyed;
static _Thread_local int own = 5;

static void initialise(void)
{
    initialised++;
}

static void destroy(void *value)
{
    destroyed += *(int *)value;
}

static int work(void *argument)
{
    static int one = 1;
    call_once(&once, initialise);
    assert(own == 5);
    own = 6;
    assert(tss_set(key, &one) == thrd_success);
    mtx_lock(&guard);
    ready++;
    cnd_signal(&changed);
    mtx_unlock(&guard);
    thrd_yield();
    return *(int *)argument;
}

int main(void)
{
    thrd_t thread;
    int argument = 42, result = 0;
    assert(mtx_init(&guard, mtx_plain) == thrd_success);
    assert(cnd_init(&changed) == thrd_success);
    assert(tss_create(&key, destroy) == thrd_success);
    assert(thrd_create(&thread, work, &argument) == thrd_success);
    call_once(&once, initialise);
    mtx_lock(&guard);
    while (!ready)
        cnd_wait(&changed, &guard);
    mtx_unlock(&guard);
    assert(thrd_join(thread, &result) == thrd_success && result == 42);
    assert(initialised == 1 && destroyed == 1 && own == 5);
    mtx_destroy(&guard);
    cnd_destroy(&changed);
    return 0;
}
