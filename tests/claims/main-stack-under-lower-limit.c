// The stack that main has by its attributes follows the limit, and can be used to its end.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sys/resource.h>
static char *low;
static void limit(void) {
    pthread_attr_t mine;
    size_t size;
    pthread_getattr_np(pthread_self(), &mine);
    pthread_attr_getstack(&mine, (void **)&low, &size);
    pthread_attr_destroy(&mine);
}
static __attribute__((noinline)) int deep(void) {
    volatile char here[4096];
    here[0] = 1;
    // Two pages are left to the calls below this one.
    return (char *)here > low + 8192 ? deep() + here[0] : 0;
}
static void *nothing(void *u) { return u; }
int main(void) {
    pthread_t a;
    char *before;
    limit();
    before = low;
    struct rlimit lower = { .rlim_cur = 1 << 20, .rlim_max = RLIM_INFINITY };
    getrlimit(RLIMIT_STACK, &lower);
    lower.rlim_cur = 1 << 20;
    assert(!setrlimit(RLIMIT_STACK, &lower));
    limit();
    assert(low > before);
    assert(deep() > 100);
    pthread_create(&a, 0, nothing, 0);
    pthread_join(a, 0);
    return 0;
}
