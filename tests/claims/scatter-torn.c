// A vector scatter stores one element after the other: another thread can see the first without the last.
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
static int words[16];
static int seen;
static void *writer(void *u) {
    int out[16];
    for (int i = 0; i < 16; i++) out[i] = 1;
    __m512i index = _mm512_set_epi32(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15);
    _mm512_mask_i32scatter_epi32(words, 0x8001, index, _mm512_loadu_si512(out), 4);
    return u;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, writer, 0);
    volatile int *v = words;
    int last = v[0], first = v[15];   /* lane 15 -> index 0, lane 0 -> index 15 */
    pthread_join(a, 0);
    if (v[0] != 1 || v[15] != 1 || v[1]) abort();
    if (first == 1 && last == 0) abort();  /* lane 0 stored, lane 15 not */
    return 0;
}
