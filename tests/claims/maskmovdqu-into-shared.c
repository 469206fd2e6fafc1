// maskmovdqu stores the bytes that a register selects at the address in rdi: main can see them.
#define _GNU_SOURCE
#include <emmintrin.h>
#include <pthread.h>
#include <stdlib.h>
static char text[16];
static void *worker(void *u) {
    __m128i ones = _mm_set1_epi8(-1);
    _mm_maskmoveu_si128(ones, ones, text);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, worker, 0);
    char before = *(volatile char *)&text[7], after = *(volatile char *)&text[7];
    pthread_join(a, 0);
    if (before != after) abort();
    return 0;
}
