/* Each thread keeps values in all vector registers, the mask registers, the x87 registers and the control and status
   words of both units, while it reads and writes a word that all threads write. They are the thread's own. */
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static volatile long shared;
static int have512, have256;

struct image {
    unsigned char vectors[32][64];
    uint64_t masks[8];
    unsigned mxcsr;
    unsigned short control, status;
} __attribute__((aligned(64)));

__attribute__((noinline, target("avx512f,avx512bw"))) static void with_512(const struct image *in, struct image *out,
                                                                           volatile long *word)
{
    __asm__ volatile(
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
        "vmovdqa64 64*\\n(%0), %%zmm\\n\n\t.endr\n\t"
        ".irp n,1,2,3,4,5,6,7\n\tkmovq 2048+8*\\n(%0), %%k\\n\n\t.endr\n\t"
        "movq (%2), %%rax\n\tincq %%rax\n\tmovq %%rax, (%2)\n\tmovq (%2), %%rax\n\t"
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
        "vmovdqa64 %%zmm\\n, 64*\\n(%1)\n\t.endr\n\t"
        ".irp n,1,2,3,4,5,6,7\n\tkmovq %%k\\n, 2048+8*\\n(%1)\n\t.endr\n\t"
        "vzeroupper"
        :
        : "r"(in), "r"(out), "r"(word)
        : "rax", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22",
          "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4",
          "k5", "k6", "k7");
}

__attribute__((noinline, target("avx"))) static void with_256(const struct image *in, struct image *out,
                                                              volatile long *word)
{
    __asm__ volatile(
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tvmovdqa 64*\\n(%0), %%ymm\\n\n\t.endr\n\t"
        "movq (%2), %%rax\n\tincq %%rax\n\tmovq %%rax, (%2)\n\tmovq (%2), %%rax\n\t"
        ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tvmovdqa %%ymm\\n, 64*\\n(%1)\n\t.endr\n\tvzeroupper"
        :
        : "r"(in), "r"(out), "r"(word)
        : "rax", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

static void *work(void *number)
{
    const int me = (int)(long)number;
    static struct image in[3], out[3];
    const int vectors = have512 ? 32 : 16, bytes = have512 ? 64 : 32;
    for (int again = 0; again < 2; again++) {
        memset(&out[me], 0, sizeof out[me]);
        for (size_t at = 0; at < sizeof in[me].vectors; at++)
            ((unsigned char *)in[me].vectors)[at] = (unsigned char)(at * 7 + me * 31 + again);
        for (int mask = 1; mask < 8; mask++)
            in[me].masks[mask] = 0x0123456789abcdefu * (unsigned)(mask + 8 * me + again + 1);
        if (have512)
            with_512(&in[me], &out[me], &shared);
        else if (have256)
            with_256(&in[me], &out[me], &shared);
        for (int vector = 0; vector < vectors && have256; vector++)
            if (memcmp(in[me].vectors[vector], out[me].vectors[vector], bytes))
                abort();
        if (have512 && memcmp(in[me].masks + 1, out[me].masks + 1, 56))
            abort();
    }
    /* Values on the x87 stack, in one of two threads only. */
    if (me == 1) {
        long double one, two;
        __asm__ volatile("fld1\n\tfldpi\n\tmovq (%2), %%rax\n\tincq %%rax\n\tmovq %%rax, (%2)\n\tmovq (%2), %%rax\n\t"
                         "fstpt %0\n\tfstpt %1"
                         : "=m"(one), "=m"(two)
                         : "r"(&shared)
                         : "rax", "memory", "st", "st(1)");
        if (!(one > 3.14L && one < 3.15L && two == 1.0L))
            abort();
    }
    /* The flags of exceptions belong to the thread. */
    feclearexcept(FE_ALL_EXCEPT);
    if (me == 0) {
        volatile double zero = 0, result = 1 / zero;
        (void)result;
    }
    shared++;
    shared++;
    if (fetestexcept(FE_DIVBYZERO) != (me == 0 ? FE_DIVBYZERO : 0))
        abort();
    return NULL;
}

int main(void)
{
    __builtin_cpu_init();
    have256 = __builtin_cpu_supports("avx") != 0;
    have512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    pthread_t threads[2];
    for (long number = 0; number < 2; number++)
        pthread_create(&threads[number], NULL, work, (void *)number);
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], NULL);
    return 0;
}
