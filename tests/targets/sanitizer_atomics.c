/* Every function by which compilers report an atomic operation, in every size and with every
 * memory order, called by hand and compared with the instruction's effect, also in other words. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#define QUIET __attribute__((no_sanitize_thread))
typedef unsigned char a8;
typedef unsigned short a16;
typedef unsigned int a32;
typedef unsigned long a64;
typedef unsigned __int128 a128;

#define UPDATE(bits, name, result)                                                              \
    {                                                                                           \
        extern a##bits __tsan_atomic##bits##_##name(volatile a##bits *, a##bits, int);          \
        a##bits was = start, word = was;                                                        \
        assert(__tsan_atomic##bits##_##name(&word, with, order) == was);                        \
        assert(word == (a##bits)(result));                                                      \
    }

#define COMPARE(bits, name)                                                                     \
    {                                                                                           \
        extern int __tsan_atomic##bits##_##name(volatile a##bits *, a##bits *, a##bits, int, int); \
        a##bits word = start, expected = start + 1;                                             \
        assert(!__tsan_atomic##bits##_##name(&word, &expected, with, order, 0));                \
        assert(word == start && expected == start);                                             \
        assert(__tsan_atomic##bits##_##name(&word, &expected, with, order, 0));                 \
        assert(word == with && expected == start);                                              \
    }

#define SIZE(bits)                                                                              \
    QUIET static void of_##bits(a##bits start, a##bits with, int order)                         \
    {                                                                                           \
        extern a##bits __tsan_atomic##bits##_load(const volatile a##bits *, int);               \
        extern void __tsan_atomic##bits##_store(volatile a##bits *, a##bits, int);              \
        extern a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *, a##bits,  \
                                                                  a##bits, int, int);           \
        a##bits around[3] = {start, 0, with};                                                   \
        __tsan_atomic##bits##_store(&around[1], start, order);                                  \
        assert(__tsan_atomic##bits##_load(&around[1], order) == start);                         \
        assert(around[0] == start && around[2] == with);                                        \
        UPDATE(bits, exchange, with)                                                            \
        UPDATE(bits, fetch_add, was + with)                                                     \
        UPDATE(bits, fetch_sub, was - with)                                                     \
        UPDATE(bits, fetch_and, was & with)                                                     \
        UPDATE(bits, fetch_or, was | with)                                                      \
        UPDATE(bits, fetch_xor, was ^ with)                                                     \
        UPDATE(bits, fetch_nand, ~(was & with))                                                 \
        COMPARE(bits, compare_exchange_strong)                                                  \
        COMPARE(bits, compare_exchange_weak)                                                    \
        a##bits word = start;                                                                   \
        a##bits other = start + 1;                                                              \
        assert(__tsan_atomic##bits##_compare_exchange_val(&word, other, with, order, 0) == start); \
        assert(word == start);                                                                  \
        assert(__tsan_atomic##bits##_compare_exchange_val(&word, start, with, order, 0) == start); \
        assert(word == with);                                                                   \
    }

SIZE(8)
SIZE(16)
SIZE(32)
SIZE(64)
SIZE(128)

extern void __tsan_atomic_thread_fence(int);
extern void __tsan_atomic_signal_fence(int);
extern void *__tsan_memcpy(void *, const void *, size_t) __attribute__((weak));
extern void *__tsan_memmove(void *, const void *, size_t) __attribute__((weak));
extern void *__tsan_memset(void *, int, size_t) __attribute__((weak));

QUIET int main(void)
{
    const a128 high = (a128)0x8765432187654321 << 64;
    for (int order = 0; order <= 5; order++) {
        /* Types that are narrower than 128 bits use the low bits. */
        a128 starts[] = {0, 1, 0xff, high | 0xfedcba9876543210, ~(a128)0};
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++) {
                if ((a8)starts[i] == (a8)starts[j])
                    continue;
                of_8(starts[i], starts[j], order);
                of_16(starts[i], starts[j], order);
                of_32(starts[i], starts[j], order);
                of_64(starts[i], starts[j], order);
                of_128(starts[i], starts[j], order);
            }
        __tsan_atomic_thread_fence(order);
        __tsan_atomic_signal_fence(order);
    }
    if (__tsan_memcpy && __tsan_memmove && __tsan_memset) {
        char text[9] = "abcdefgh", copy[9];
        assert(__tsan_memcpy(copy, text, 9) == copy && !strcmp(copy, "abcdefgh"));
        assert(__tsan_memmove(text + 2, text, 4) == text + 2 && !strcmp(text, "ababcdgh"));
        assert(__tsan_memset(text, 'x', 3) == text && !strcmp(text, "xxxbcdgh"));
    }
    return 0;
}
