// Gathers of every form return the elements of an array while another thread writes equal values: nothing can go wrong.
#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int w[64]; static double d[64]; static long q[64];
static void *other(void *u) { volatile int *v = w; v[5] = 5; volatile double *e = d; e[5] = 5; volatile long*f = q; f[5]=5; return u; }
int main(void) {
    for (int i = 0; i < 64; i++) w[i] = i, d[i] = i, q[i] = i;
    pthread_t a;
    pthread_create(&a, 0, other, 0);
    int ix[8] = {7,6,5,4,3,2,1,0}; long iq[4] = {9,5,3,1};
    int o[8]; double e[4]; long f[8]; int g[4];
    _mm256_storeu_si256((void*)o, _mm256_i32gather_epi32(w, _mm256_loadu_si256((void*)ix), 4));
    for (int i = 0; i < 8; i++) if (o[i] != 7 - i) abort();
    _mm256_storeu_pd(e, _mm256_i32gather_pd(d, _mm_loadu_si128((void*)ix), 8));
    for (int i = 0; i < 4; i++) if (e[i] != 7 - i) abort();
    _mm_storeu_si128((void*)g, _mm256_i64gather_epi32(w, _mm256_loadu_si256((void*)iq), 4));
    for (int i = 0; i < 4; i++) if (g[i] != iq[i]) abort();
    __m256i mask = _mm256_set_epi64x(0, -1, 0, -1);
    _mm256_storeu_si256((void*)f, _mm256_mask_i64gather_epi64(_mm256_set1_epi64x(77), (void*)q, _mm256_loadu_si256((void*)iq), mask, 8));
    if (f[0] != 9 || f[1] != 77 || f[2] != 3 || f[3] != 77) abort();
    long iz[8] = {0,1,2,3,4,5,6,7};
    _mm512_storeu_si512(f, _mm512_mask_i64gather_epi64(_mm512_set1_epi64(88), 0xaa, _mm512_loadu_si512(iz), q, 8));
    for (int i = 0; i < 8; i++) if (f[i] != (i & 1 ? i : 88)) abort();
    pthread_join(a, 0);
    return 0;
}
