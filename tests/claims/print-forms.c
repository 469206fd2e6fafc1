/* A call that prints into shared memory has the same result as one into a private variable, whatever it prints. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 48 };

static char shared[ROOM];
static volatile char seen;

static void *look(void *unused)
{
    seen = *(volatile char *)shared;
    return unused;
}

static int print_list(char *to, size_t room, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(to, room, format, list);
    va_end(list);
    return length;
}

#define CHECK_IN(room, ...)                                                                        \
    do {                                                                                           \
        char own[ROOM];                                                                            \
        memset(own, '-', ROOM);                                                                    \
        memset(shared, '-', ROOM);                                                                 \
        int expected = snprintf(own, room, __VA_ARGS__);                                           \
        assert(snprintf(shared, room, __VA_ARGS__) == expected);                                   \
        assert(!memcmp(own, shared, ROOM));                                                        \
        memset(shared, '-', ROOM);                                                                 \
        assert(print_list(shared, room, __VA_ARGS__) == expected);                                 \
        assert(!memcmp(own, shared, ROOM));                                                        \
    } while (0)
#define CHECK(...) CHECK_IN(ROOM, __VA_ARGS__)

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, look, NULL);
    CHECK("plain text");
    CHECK("100%% of %s", "it");
    CHECK("[%c%c]", 'a', 'b');
    CHECK("[%5c|%-5c]", 'a', 'b');
    CHECK("[%s|%10s|%-10s|%.2s|%10.2s]", "abc", "abc", "abc", "abc", "abc");
    CHECK("[%s|%.3s|%10s]", (char *)NULL, (char *)NULL, (char *)NULL);
    CHECK("[%d|%5d|%-5d|%05d|%+d|% d]", -42, -42, -42, -42, 42, 42);
    CHECK("[%.5d|%8.5d|%-8.5d|%08.5d|%.0d]", -42, -42, -42, -42, 0);
    CHECK("[%*d|%-*d|%.*d|%*.*d]", 6, 1, 6, 2, 3, 3, -7, 3, 4);
    CHECK("%d %d %d", INT_MIN, INT_MAX, 0);
    CHECK("%hhd %hd %ld %lld", (signed char)-1, (short)-2, -3L, LLONG_MIN);
    CHECK("%zu %jd %td", (size_t)1, (intmax_t)-2, (ptrdiff_t)3);
    CHECK("%u %o %#o %x %#x %X %#X", 7u, 8u, 8u, 255u, 255u, 255u, 255u);
    CHECK("[%#010x|%-#10x|%#10x|%#x]", 255u, 255u, 255u, 0u);
    CHECK("[%#06o|%.3o|%#.3o]", 8u, 8u, 8u);
    CHECK("[%p|%20p|%-20p]", (void *)0x1234, (void *)0x1234, (void *)0);
    CHECK("[%f|%.2f|%10.3f|%-10.1f|%010.2f]", 1.5, -2.25, 3.125, 4.0, -5.5);
    CHECK("[%e|%.0e|%G|%#g]", 12345.678, 0.5, 1e-10, 2.0);
    CHECK("[%a|%+a|%020a]", 1.0, -0.5, -3.0);
    CHECK("[%f|%08f|%-8f|%+F]", (double)INFINITY, -(double)INFINITY, (double)NAN, (double)INFINITY);
    CHECK("[%Lf|%d|%Lg]", 1.25L, 7, 2.5L);
    CHECK("%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8);
    CHECK("%.0f%.0f%.0f%.0f%.0f%.0f%.0f%.0f%.0f%.0f", 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.);
    CHECK_IN(8, "%s and %d", "longer than there is room", 12);
    CHECK_IN(1, "%d", 12);
    CHECK_IN(0, "%d", 12);
    CHECK_IN(4, "%6d", 12);
    memset(shared, '-', ROOM);
    assert(sprintf(shared, "%s=%d", "value", 3) == 7 && !strcmp(shared, "value=3"));
    pthread_join(thread, NULL);
    return 0;
}
