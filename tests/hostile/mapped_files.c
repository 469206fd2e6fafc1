/* Mappings of files. Each case has a thread that changes a file, and in most cases changes it back, while main looks at
   a mapping of it; main aborts if it meets the change. In the cases of the second list it cannot meet one. The argument
   chooses the case. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static int fd, other;
static volatile char *page;

static void need(int holds)
{
    if (!holds)
        exit(3);
}

static void put(int descriptor, char byte)
{
    need(pwrite(descriptor, &byte, 1, 0) == 1);
}

static void map(int descriptor, int kind)
{
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, kind, descriptor, 0);
    need(page != MAP_FAILED);
}

static void file(const char *name)
{
    fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    need(fd >= 0 && ftruncate(fd, 4096) == 0);
}

static void mapped(void)
{
    file("mapped");
    map(fd, MAP_PRIVATE);
}

static void segment(void)
{
    fd = shm_open("/heddle-test-mapped", O_RDWR | O_CREAT, 0600);
    shm_unlink("/heddle-test-mapped");
    need(fd >= 0 && ftruncate(fd, 4096) == 0);
    map(fd, MAP_PRIVATE);
}

static void memory(void)
{
    fd = memfd_create("memory", 0);
    need(fd >= 0 && ftruncate(fd, 4096) == 0);
    map(fd, MAP_PRIVATE);
}

static void moved(void)
{
    mapped();
    page = mremap((void *)page, 4096, 8192, MREMAP_MAYMOVE);
    need(page != MAP_FAILED);
}

static char mapped_now(int kind)
{
    map(fd, kind);
    char byte = page[0];
    munmap((void *)page, 4096);
    return byte;
}

static void cut(long size)
{
    need(ftruncate(fd, size) == 0);
}

static void emptied(void)
{
    close(open("mapped", O_WRONLY | O_TRUNC));
    cut(4096);
}

/* Name, what is done before, what the thread changes, how it changes that back, what main looks at. */
#define MET(CASE)                                                                                                      \
    CASE(private_pwrite, mapped(), put(fd, 1), put(fd, 0), page[0])                                                    \
    CASE(private_write, mapped(), need(write(fd, "\1", 1) == 1), put(fd, 0), page[0])                                  \
    CASE(private_pwritev, mapped(), need(pwritev(fd, &(struct iovec){"\1", 1}, 1, 0) == 1), put(fd, 0), page[0])       \
    CASE(private_second_descriptor, (mapped(), other = open("mapped", O_RDWR)), put(other, 1), put(other, 0), page[0]) \
    CASE(private_closed_descriptor, (mapped(), close(fd), other = open("mapped", O_RDWR)), put(other, 1),              \
         put(other, 0), page[0])                                                                                       \
    CASE(private_segment, segment(), put(fd, 1), put(fd, 0), page[0])                                                  \
    CASE(private_memory, memory(), put(fd, 1), put(fd, 0), page[0])                                                    \
    CASE(private_moved, moved(), put(fd, 1), put(fd, 0), page[0])                                                      \
    CASE(private_beside_shared, (mapped(), shared = mmap(0, 4096, PROT_WRITE, MAP_SHARED, fd, 0)), shared[0] = 1,      \
         shared[0] = 0, page[0])                                                                                       \
    CASE(private_mapped_now, file("mapped"), put(fd, 1), put(fd, 0), mapped_now(MAP_PRIVATE))                          \
    CASE(shared_mapped_now, file("mapped"), put(fd, 1), put(fd, 0), mapped_now(MAP_SHARED))                            \
    CASE(private_cut, mapped(), cut(0), cut(4096), page[0])                                                            \
    CASE(shared_cut, (file("mapped"), map(fd, MAP_SHARED)), cut(0), cut(4096), page[0])                                \
    CASE(memory_cut, memory(), cut(0), cut(4096), page[0])                                                             \
    CASE(private_emptied, mapped(), emptied(), , page[0])

#define NOT_MET(CASE)                                                                                                  \
    CASE(private_of_other_file, (mapped(), file("other")), put(fd, 1), put(fd, 0), page[0])                            \
    CASE(private_other_part, mapped(), need(pwrite(fd, "\1", 1, 64) == 1), , page[0])                                  \
    CASE(cut_unread, (file("mapped"), map(fd, MAP_SHARED)), cut(0), , 0)                                               \
    CASE(cut_private_unread, mapped(), cut(0), , 0)                                                                    \
    CASE(read_of_empty_file, (file("mapped"), cut(0), map(fd, MAP_SHARED)), need(read(fd, (char[1]){0}, 1) == 0), ,    \
         write(fd, "", 0))

static volatile char *shared;

#define FUNCTIONS(name, start, set, reset, see)                                                                        \
    static void name##_before(void) { start; }                                                                         \
    static void name##_change(void) { set; }                                                                           \
    static void name##_back(void) { reset; }                                                                           \
    static int name##_look(void) { return see; }
MET(FUNCTIONS)
NOT_MET(FUNCTIONS)

static const struct test {
    const char *name;
    void (*before)(void), (*change)(void), (*back)(void);
    int (*look)(void);
} tests[] = {
#define ROW(name, start, set, reset, see) {#name, name##_before, name##_change, name##_back, name##_look},
    MET(ROW) {0, 0, 0, 0, 0}, NOT_MET(ROW)
};

static const struct test *chosen;

static void *worker(void *unused)
{
    chosen->change();
    chosen->back();
    return unused;
}

int main(int count, char **arguments)
{
    const size_t number = sizeof tests / sizeof *tests;
    /* The cases, with an empty line between the lists. */
    for (size_t at = 0; count < 2 && at < number; at++)
        puts(tests[at].name ? tests[at].name : "");
    for (size_t at = 0; count > 1 && at < number; at++)
        if (tests[at].name && !strcmp(tests[at].name, arguments[1]))
            chosen = &tests[at];
    if (!chosen)
        return count > 1 ? 2 : 0;
    chosen->before();
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    if (chosen->look())
        abort();
    pthread_join(thread, NULL);
    return 0;
}
