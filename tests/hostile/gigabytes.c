/* Has more than a gigabyte of variables and uses a little of them; with FILLED, a part was filled before main. */
#include <pthread.h>
#include <stddef.h>

enum { STEP = 64 << 20 };
static char zeros[(size_t)3 << 29];
static char values[32 << 20] = {1};

#ifdef FILLED
__attribute__((constructor)) static void fill(void)
{
    for (size_t at = 0; at < (size_t)FILLED << 20; at += 4096)
        zeros[at] = 2;
}
static const char first = 2;
#else
static const char first = 0;
#endif

static void *work(void *unused)
{
    for (size_t at = 0; at < sizeof zeros; at += STEP) {
        if (zeros[at + 1] != 0 || (at == 0 && zeros[at] != first))
            return zeros;
        zeros[at + 1] = 3;
    }
    for (size_t at = 1; at < sizeof values; at += 1 << 20) {
        if (values[at] != 0)
            return values;
        values[at] = 4;
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    void *failed;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, &failed);
    return failed != NULL;
}
