/* Maps and unmaps more ranges than the runtime records, and leaves some of them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

enum { PAGE = 4096, KEPT = 600 };

static char *map(size_t len)
{
    void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void *work(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        char *at = map(4 * PAGE);
        /* New memory is zero, whatever was there before. */
        if (at == NULL || at[0] != 0 || at[3 * PAGE] != 0)
            return map;
        at[0] = at[3 * PAGE] = 1;
        if (munmap(at + PAGE, PAGE) != 0 || munmap(at, PAGE) != 0 || munmap(at + 2 * PAGE, 2 * PAGE) != 0)
            return map;
    }
    for (int i = 0; i < KEPT; i++) {
        char *at = map(PAGE * (1 + i % 3));
        if (at == NULL || at[0] != 0)
            return map;
        at[0] = 1;
        if (i % 7 == 0 && mremap(at, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED)
            return map;
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
