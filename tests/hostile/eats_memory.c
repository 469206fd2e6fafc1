/* Allocates memory by every available call until there is none left, and writes to all of it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK = 8 << 20 };

static void *eat(void *unused)
{
    (void)unused;
    void **last = NULL;
    for (;;) {
        void **block = malloc(CHUNK);
        if (block == NULL)
            break;
        memset(block, 1, CHUNK);
        *block = last;
        last = block;
    }
    for (;;) {
        void *map =
            mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED)
            break;
        memset(map, 1, CHUNK);
    }
    /* Released memory can be allocated again. */
    while (last != NULL) {
        void **next = *last;
        free(last);
        last = next;
    }
    return malloc(CHUNK);
}

int main(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, eat, NULL);
    pthread_join(thread, &result);
    return result == NULL;
}
