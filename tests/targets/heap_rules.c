/* The functions of the heap, each testable sentence of their manual pages:
 * on main and on a second thread. Also run natively, to validate the tests. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#define HUGE_SIZE (SIZE_MAX / 2)

static int is_aligned(void *block, size_t to)
{
    return (uintptr_t)block % to == 0;
}

static int is_all(const char *bytes, char value, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != value)
            return 0;
    return 1;
}

static void plain(void)
{
    volatile size_t huge = HUGE_SIZE;
    char *block = malloc(100);
    assert(block != NULL && is_aligned(block, 16));
    assert(malloc_usable_size(block) >= 100 && malloc_usable_size(NULL) == 0);
    memset(block, 'x', 100);
    free(block);
    free(NULL);
    /* Blocks of size 0 are distinct blocks. */
    void *none = malloc(0), *other = malloc(0);
    assert(none != NULL && other != NULL && none != other);
    free(none);
    free(other);
    errno = 0;
    assert(malloc(huge) == NULL && errno == ENOMEM);
    /* free leaves errno alone. */
    errno = 77;
    free(malloc(10));
    assert(errno == 77);
}

static void zeroed(void)
{
    volatile size_t huge = HUGE_SIZE;
    for (size_t size = 1; size < 20000; size = size * 3 + 1) {
        char *dirty = malloc(size);
        memset(dirty, 'x', size);
        free(dirty);
        char *block = calloc(1, size);
        assert(block != NULL && is_all(block, 0, size));
        free(block);
    }
    char *block = calloc(0, 10);
    assert(block != NULL);
    free(block);
    errno = 0;
    assert(calloc(huge, 4) == NULL && errno == ENOMEM);
}

static void resized(void)
{
    volatile size_t huge = HUGE_SIZE;
    char *block = realloc(NULL, 10);
    assert(block != NULL);
    memset(block, 'a', 10);
    for (size_t size = 20; size < 300000; size = size * 2 + 7) {
        block = realloc(block, size);
        assert(block != NULL && is_aligned(block, 16) && is_all(block, 'a', 10));
        block[size - 1] = 'z';
        assert(malloc_usable_size(block) >= size);
    }
    block = realloc(block, 5);
    assert(block != NULL && is_all(block, 'a', 5));
    /* If a block cannot be resized, it remains unchanged. */
    errno = 0;
    assert(realloc(block, huge) == NULL && errno == ENOMEM && is_all(block, 'a', 5));
    errno = 0;
    assert(reallocarray(block, huge, 4) == NULL && errno == ENOMEM && is_all(block, 'a', 5));
    block = reallocarray(block, 10, 10);
    assert(block != NULL && is_all(block, 'a', 5));
    /* glibc frees a block that is resized to 0. */
    assert(realloc(block, 0) == NULL);
}

static void aligned(void)
{
    volatile size_t huge = HUGE_SIZE;
    void *block = NULL;
    for (size_t to = 8; to <= 1 << 20; to *= 2) {
        assert(posix_memalign(&block, to, 33) == 0 && is_aligned(block, to));
        memset(block, 'x', 33);
        free(block);
        block = memalign(to, 33);
        assert(block != NULL && is_aligned(block, to));
        block = realloc(block, 5000);
        assert(block != NULL);
        free(block);
        block = aligned_alloc(to, to);
        assert(block != NULL && is_aligned(block, to));
        free(block);
    }
    /* These functions return the error, and leave the pointer unchanged. */
    void *before = &block;
    block = before;
    errno = 55;
    assert(posix_memalign(&block, 24, 10) == EINVAL && block == before);
    assert(posix_memalign(&block, 4, 10) == EINVAL && block == before);
    assert(posix_memalign(&block, 64, huge) == ENOMEM && block == before);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    block = valloc(10);
    assert(block != NULL && is_aligned(block, page));
    free(block);
    block = pvalloc(10);
    assert(block != NULL && is_aligned(block, page) && malloc_usable_size(block) >= page);
    memset(block, 'x', page);
    free(block);
    errno = 0;
    assert(memalign(64, huge) == NULL && errno == ENOMEM);
}

static void by_the_library(void)
{
    char *copy = strdup("copy"), *part = strndup("part of it", 4), *printed = NULL;
    wchar_t *wide = wcsdup(L"wide");
    assert(!strcmp(copy, "copy") && !strcmp(part, "part") && !wcscmp(wide, L"wide"));
    assert(asprintf(&printed, "%s %d", copy, 7) == 6 && !strcmp(printed, "copy 7"));
    free(copy);
    free(part);
    free(wide);
    free(printed);
}

static void figures(void)
{
    char *block = malloc(1 << 16);
    struct mallinfo2 with = mallinfo2();
    assert(with.uordblks >= 1 << 16 && with.arena + with.hblkhd >= with.uordblks);
    free(block);
    assert(mallinfo2().uordblks < with.uordblks);
    assert(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
    int trimmed = malloc_trim(0);
    assert(trimmed == 0 || trimmed == 1);
}

static void *all(void *unused)
{
    plain();
    zeroed();
    resized();
    aligned();
    by_the_library();
    return unused;
}

int main(void)
{
    all(NULL);
    /* Alone: what it asks for depends on the allocations of every thread. */
    figures();
    pthread_t thread;
    pthread_create(&thread, NULL, all, NULL);
    pthread_join(thread, NULL);
    return 0;
}
