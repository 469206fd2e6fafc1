/* Threads that allocate, grow, align and free blocks of many sizes, and free what others allocated. */
#define _GNU_SOURCE
#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 64

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static char *passed;

static void hand_over(char *block)
{
    pthread_mutex_lock(&guard);
    char *other = passed;
    passed = block;
    pthread_mutex_unlock(&guard);
    if (other)
        assert(other[0] == 'p' && other[99] == 'p');
    free(other);
}

static void *work(void *argument)
{
    int fill = (int)(intptr_t)argument;
    char *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = (size_t)1 << (i % 16);
        block[i] = i % 2 ? malloc(size) : calloc(size, 1);
        assert(block[i] && malloc_usable_size(block[i]) >= size);
        assert((uintptr_t)block[i] % 16 == 0);
        assert(i % 2 || (block[i][0] == 0 && block[i][size - 1] == 0));
        memset(block[i], fill, size);
    }
    char *shared = malloc(100);
    memset(shared, 'p', 100);
    hand_over(shared);
    for (int i = 0; i < BLOCKS; i++) {
        size_t size = (size_t)1 << (i % 16);
        block[i] = realloc(block[i], size * 3);
        assert(block[i] && block[i][0] == fill && block[i][size - 1] == fill);
    }
    for (int i = BLOCKS - 1; i >= 0; i -= 2)
        free(block[i]);
    for (int i = 0; i < BLOCKS; i += 2)
        free(block[i]);
    void *aligned = NULL;
    assert(posix_memalign(&aligned, 256, 10) == 0 && (uintptr_t)aligned % 256 == 0);
    free(aligned);
    char *copy = strdup("a copy");
    assert(strcmp(copy, "a copy") == 0);
    free(copy);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert(passed && passed[50] == 'p');
    free(passed);
    return 0;
}
