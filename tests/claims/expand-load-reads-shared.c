// A vector load that expands reads a word, and a later masked load reads it again: it can have changed in between.
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
static int words[16] __attribute__((aligned(64)));
static void *flicker(void *u) { volatile int *v = words; v[3] = 1; v[3] = 0; return u; }
int main(int n, char **v) {
    pthread_t a;
    pthread_create(&a, 0, flicker, 0);
    int out[16];
    _mm512_storeu_si512(out, _mm512_maskz_expandloadu_epi32(n << 12, words + 3));
    __m512i w = _mm512_maskz_loadu_epi32(n << 3, words);
    int out2[16];
    _mm512_storeu_si512(out2, w);
    pthread_join(a, 0);
    if (out[12] && !out2[3]) abort();
    return 0;
}
