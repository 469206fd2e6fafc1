/* Kinds of code that reverse execution has to handle: loops that begin with short instructions or
   are entered in the middle, indirect jumps and calls, string instructions, flags that are live at
   a loop's head, system calls, library functions, recursion. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

volatile struct { long sum, number, here[6]; unsigned char bytes[128]; } all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void add(long i) { all.sum += i; }
__attribute__((noinline)) static void xor(long i) { all.sum ^= i; }
__attribute__((noinline)) static void twice(long i) { all.sum += i + i; }

static void loops(long n)
{
    for (long i = 0; i < n; i++)
        all.sum += i;
    /* Three instructions under five bytes; the whole loop under five bytes. */
    long sum = 0;
    __asm__ volatile("1: inc %k0; add %1, %0; dec %1; jnz 1b" : "+r"(sum), "+r"(n) : : "cc");
    __asm__ volatile("mov $700, %%ecx; 1: dec %%ecx; jnz 1b" : : : "ecx", "cc");
    __asm__ volatile("mov $300, %%ecx; 1: loop 1b" : : : "rcx", "cc");
    all.number += sum;
}

/* The carry flag is live across iterations, and the loop is entered in the middle. */
static void carries(long n)
{
    static const long words[4] = {-1, 5, -7, 1};
    long sum = 0, turn = n;
    __asm__ volatile("clc; jmp 2f; 1: adc (%2), %0; 2: lea -1(%1), %1; adc 8(%2), %0; mov %1, %%rcx; jrcxz 3f; jmp 1b; 3:"
                     : "+r"(sum), "+r"(turn) : "r"(words) : "rcx", "cc", "memory");
    all.here[0] = sum;
    __asm__ volatile("pushf; pop %0" : "=r"(sum) : : "cc");
    all.here[1] = sum;
}

static void jumps(long n)
{
    static void *const to[] = {&&zero, &&one, &&two, &&three};
    static void (*const calls[])(long) = {add, xor, twice};
    for (long i = 0; i < n; i++) {
        goto *to[(i ^ i >> 3) & 3];
    zero:
        all.sum += 1;
        continue;
    one:
        calls[i % 3](i);
        continue;
    two:
        all.number ^= i;
    three:
        switch (i * 7 % 11) {
        case 0: all.sum++; break;
        case 1: all.sum--; break;
        case 2: all.number++; continue;
        case 3: all.number--; break;
        case 4: add(i); break;
        case 5: all.here[2]++; continue;
        default: all.here[3] ^= i; break;
        }
        all.here[4]++;
    }
}

static void strings(long n)
{
    for (long i = 0; i < n / 100; i++) {
        void *to = (void *)all.bytes;
        long len = 8 + i % 100;
        __asm__ volatile("rep stosb" : "+D"(to), "+c"(len) : "a"(i) : "memory");
        const void *from = (const void *)all.bytes;
        to = (void *)(all.bytes + 64);
        len = 8;
        __asm__ volatile("rep movsq" : "+S"(from), "+D"(to), "+c"(len) : : "memory");
        to = (void *)all.bytes;
        len = 128;
        __asm__ volatile("repne scasb" : "+D"(to), "+c"(len) : "a"(7) : "memory", "cc");
        all.here[5] += len;
    }
}

static unsigned long tree(long depth) { return depth < 2 ? 1 : tree(depth - 1) + tree(depth - 2); }
static int order(const void *a, const void *b) { return *(const unsigned char *)a - *(const unsigned char *)b; }

static void library(long n)
{
    unsigned char mine[64];
    for (int i = 0; i < 64; i++)
        mine[i] = i * 7919 + n;
    qsort(mine, 64, 1, order);
    memcpy((void *)all.bytes, mine, 64);
    all.sum += strlen("abc") + tree(9);
    double x = 1;
    for (long i = 1; i < n / 10; i++)
        x += x / i;
    all.number += (long)x;
}

static void system_calls(long n)
{
    int file = open("/dev/zero", 0), null = open("/dev/null", 1);
    for (long i = 0; i < n / 100; i++) {
        long parent;
        __asm__ volatile("syscall" : "=a"(parent) : "a"(SYS_getppid) : "rcx", "r11", "memory");
        all.sum += parent != 0;
        if (read(file, (void *)all.bytes, 16) != 16 || write(null, (void *)all.bytes, 16) != 16)
            abort();
    }
    close(file);
    close(null);
}

static void on(int number) { all.number += number; }
static void signals(long n) { for (long i = 0; i < n / 200; i++) raise(SIGUSR1); }

static void (*const kinds[])(long) = {loops, carries, jumps, strings, library, system_calls, signals};

static void *worker(void *argument)
{
    long seed = (long)argument;
    for (long i = 0; i < 7; i++) {
        pthread_mutex_lock(&lock);
        kinds[(i + seed * 3) % 7](300 + 200 * seed);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    signal(SIGUSR1, on);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, worker, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return all.sum == 1;
}
