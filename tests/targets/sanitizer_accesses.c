/* Every function by which compilers report a plain access, called by hand, also those that gcc
 * never calls. Each races with a write of the other thread, except with -DLOCKED. The names
 * are weak, so that the program links and runs without the library; a line is one function. */
#include <pthread.h>
#include <stddef.h>

#define QUIET __attribute__((no_sanitize_thread, noinline))
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) char cells[100][64];
extern void __tsan_write1(void *) __attribute__((weak));

#define A(name) { extern void name(void *) __attribute__((weak)); if (name) name(at); } at += 64;
#define P(name) { extern void name(void *, void *) __attribute__((weak)); if (name) name(at, here()); } at += 64;
#define R(name) { extern void name(void *, size_t) __attribute__((weak)); if (name) name(at, 24); } at += 64;
#define Q(name) { extern void name(void *, size_t, void *) __attribute__((weak)); if (name) name(at, 24, here()); } at += 64;
#define V(name) { extern void name(void *, void *) __attribute__((weak)); if (name) name(at, "new"); } at += 64;
#define T(name) { extern void name(void *, void *, void *) __attribute__((weak)); if (name) name(at, here(), NULL); } at += 64;

/* The site that is passed to a function: the line of the call. */
QUIET static void *here(void)
{
    return __builtin_return_address(0);
}

QUIET static void *caller(void *arg)
{
    char *at = cells[0];
#ifdef LOCKED
    pthread_mutex_lock(&lock);
#endif
    A(__tsan_read1)
    A(__tsan_read2)
    A(__tsan_read4)
    A(__tsan_read8)
    A(__tsan_read16)
    A(__tsan_write1)
    A(__tsan_write2)
    A(__tsan_write4)
    A(__tsan_write8)
    A(__tsan_write16)
    P(__tsan_read1_pc)
    P(__tsan_read2_pc)
    P(__tsan_read4_pc)
    P(__tsan_read8_pc)
    P(__tsan_read16_pc)
    P(__tsan_write1_pc)
    P(__tsan_write2_pc)
    P(__tsan_write4_pc)
    P(__tsan_write8_pc)
    P(__tsan_write16_pc)
    A(__tsan_volatile_read1)
    A(__tsan_volatile_read2)
    A(__tsan_volatile_read4)
    A(__tsan_volatile_read8)
    A(__tsan_volatile_read16)
    A(__tsan_volatile_write1)
    A(__tsan_volatile_write2)
    A(__tsan_volatile_write4)
    A(__tsan_volatile_write8)
    A(__tsan_volatile_write16)
    A(__tsan_unaligned_read2)
    A(__tsan_unaligned_read4)
    A(__tsan_unaligned_read8)
    A(__tsan_unaligned_read16)
    A(__tsan_unaligned_write2)
    A(__tsan_unaligned_write4)
    A(__tsan_unaligned_write8)
    A(__tsan_unaligned_write16)
    A(__tsan_unaligned_volatile_read2)
    A(__tsan_unaligned_volatile_read4)
    A(__tsan_unaligned_volatile_read8)
    A(__tsan_unaligned_volatile_read16)
    A(__tsan_unaligned_volatile_write2)
    A(__tsan_unaligned_volatile_write4)
    A(__tsan_unaligned_volatile_write8)
    A(__tsan_unaligned_volatile_write16)
    A(__tsan_read_write1)
    A(__tsan_read_write2)
    A(__tsan_read_write4)
    A(__tsan_read_write8)
    A(__tsan_read_write16)
    A(__tsan_unaligned_read_write2)
    A(__tsan_unaligned_read_write4)
    A(__tsan_unaligned_read_write8)
    A(__tsan_unaligned_read_write16)
    R(__tsan_read_range)
    R(__tsan_write_range)
    Q(__tsan_read_range_pc)
    Q(__tsan_write_range_pc)
    A(__tsan_vptr_read)
    V(__tsan_vptr_update)
    T(__tsan_external_read)
    T(__tsan_external_write)
    A(__sanitizer_unaligned_load16)
    A(__sanitizer_unaligned_load32)
    A(__sanitizer_unaligned_load64)
    V(__sanitizer_unaligned_store16)
    V(__sanitizer_unaligned_store32)
    V(__sanitizer_unaligned_store64)
#ifdef LOCKED
    pthread_mutex_unlock(&lock);
#endif
    return arg;
}

QUIET static void *writer(void *arg)
{
#ifdef LOCKED
    pthread_mutex_lock(&lock);
#endif
    for (int cell = 0; cell < 100; cell++)
        __tsan_write1(cells[cell]);
#ifdef LOCKED
    pthread_mutex_unlock(&lock);
#endif
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, caller, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
