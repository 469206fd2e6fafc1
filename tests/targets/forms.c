/* A lost update, by each form of memory access of an x86-64 processor: a flag selects the form. A
   value is read, and its successor is written. */
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
#include <string.h>

enum { BYTES = 64 };

static volatile unsigned char cell[BYTES] __attribute__((aligned(64)));

#if defined SSE
static int get(void) { return _mm_cvtsi128_si32(_mm_load_si128((const __m128i *)cell)); }
static void put(int value) { _mm_store_si128((__m128i *)cell, _mm_set1_epi8((char)value)); }
#elif defined AVX
__attribute__((target("avx"))) static int get(void)
{
    return _mm256_extract_epi32(_mm256_loadu_si256((const __m256i *)cell), 0);
}
__attribute__((target("avx"))) static void put(int value)
{
    _mm256_storeu_si256((__m256i *)cell, _mm256_set1_epi8((char)value));
}
#elif defined REP
static int get(void)
{
    unsigned char here[BYTES], *to = here;
    const volatile unsigned char *from = cell;
    long count = BYTES;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    return here[BYTES - 1];
}
static void put(int value)
{
    volatile unsigned char *to = cell;
    long count = BYTES / 8;
    long word = value * 0x0101010101010101;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(word) : "memory");
}
#elif defined XADD
static int get(void)
{
    int none = 0;
    __asm__ volatile("lock xaddl %0, %1" : "+r"(none), "+m"(cell) : : "memory");
    return none;
}
static void put(int value) { __asm__ volatile("movl %0, %1" : : "r"(value), "m"(cell) : "memory"); }
#elif defined XCHG
static int get(void) { return *(const volatile int *)cell; }
static void put(int value)
{
    __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(cell) : : "memory");
}
#elif defined CMPXCHG16B
// The value is read by an exchange that does not change it, and written by one whose result is ignored.
static int get(void)
{
    unsigned long low = 0, high = 0;
    __asm__ volatile("lock cmpxchg16b %2"
                     : "+a"(low), "+d"(high), "+m"(*(volatile __int128 *)cell)
                     : "b"(0L), "c"(0L)
                     : "memory", "cc");
    return (int)low;
}
static void put(int value)
{
    unsigned long low = value - 1, high = 0;
    __asm__ volatile("lock cmpxchg16b %2"
                     : "+a"(low), "+d"(high), "+m"(*(volatile __int128 *)cell)
                     : "b"((long)value), "c"(0L)
                     : "memory", "cc");
}
#elif defined MEMCPY
// The compiler does not know the length, and calls the library.
static volatile size_t much = BYTES;
static int get(void)
{
    unsigned char here[BYTES];
    memcpy(here, (const void *)cell, much);
    return here[BYTES - 1];
}
static void put(int value) { memset((void *)cell, value, much); }
#elif defined STRING
static volatile size_t much = BYTES;
static int get(void) { return (int)strlen((const char *)cell); }
static void put(int value)
{
    static const char text[] = "xxx";
    strcpy((char *)cell, text + 3 - value);
}
#elif defined CALL_STACK
// Calls through a table of functions on the stack: the call itself moves the stack pointer to which its
// operand is relative.
static int get(void) { return *(const volatile int *)cell; }
static void stores(int value) { *(volatile int *)cell = value; }
static void fails(int value)
{
    (void)value;
    assert(!"another entry of the table");
}
static void put(int value)
{
    void (*table[3])(int) = {fails, stores, fails};
    long number = 1;
    __asm__ volatile("lea -256(%%rsp), %%rsp\n\t"
                     "mov %[first], (%%rsp)\n\t"
                     "mov %[second], 8(%%rsp)\n\t"
                     "mov %[first], 16(%%rsp)\n\t"
                     "call *(%%rsp,%[number],8)\n\t"
                     "lea 256(%%rsp), %%rsp"
                     :
                     : [first] "r"(table[0]), [second] "r"(table[1]), [number] "b"(number), "D"((long)value)
                     : "memory", "cc", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
}
#else
#error "say which form"
#endif

static void *run(void *unused)
{
    (void)unused;
    put((get() & 0xff) + 1);
    return NULL;
}

int main(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert((get() & 0xff) == 2);
    return 0;
}
